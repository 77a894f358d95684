"""A shop that fits on a page: one customer with a card and two gift cards, one product, a pending and a delivered order."""

from __future__ import annotations

from examples.retail.records import Address, Item, Order, PaymentMethod, Product, Records, User, Variant

CARD, GIFT, SMALL_GIFT = "credit_card_1", "gift_card_1", "gift_card_2"
PENDING, DELIVERED = "#W1", "#W2"
RED, BLUE, GREEN, SOLD_OUT = "red", "blue", "green", "sold-out"
HOME = Address(address1="1 Main Street", address2="", city="Salem", state="MA", country="USA", zip="01970")
AWAY = Address(address1="9 Far Road", address2="Suite 2", city="Reno", state="NV", country="USA", zip="89501")

_PRICES = {RED: 10.10, BLUE: 20.30, GREEN: 5.05, SOLD_OUT: 1.0}


def variant(item_id: str) -> Variant:
    return Variant(item_id=item_id, options={"color": item_id}, available=item_id != SOLD_OUT, price=_PRICES[item_id])


def item(item_id: str) -> Item:
    return Item(name="Mug", product_id="1", item_id=item_id, price=_PRICES[item_id], options={"color": item_id})


def order(order_id: str, status: str, *item_ids: str, paid_with: str = CARD) -> Order:
    total = round(sum(_PRICES[item_id] for item_id in item_ids), 2)
    return Order(
        order_id=order_id,
        user_id="ann_lee_1",
        address=HOME,
        items=[item(item_id) for item_id in item_ids],
        status=status,
        payment_history=[{"transaction_type": "payment", "amount": total, "payment_method_id": paid_with}],
    )


def shop(pending: Order | None = None, delivered: Order | None = None) -> Records:
    orders = [
        pending or order(PENDING, "pending", RED, RED, BLUE),
        delivered or order(DELIVERED, "delivered", RED, RED, BLUE),
        order("#W3", "pending (item modified)", RED),
    ]
    methods: dict[str, PaymentMethod] = {
        CARD: {"id": CARD, "source": "credit_card"},
        "paypal_1": {"id": "paypal_1", "source": "paypal"},
        GIFT: {"id": GIFT, "source": "gift_card", "balance": 50.0},
        SMALL_GIFT: {"id": SMALL_GIFT, "source": "gift_card", "balance": 10.2},
    }
    user = User(
        name={"first_name": "Ann", "last_name": "Lee"},
        address=HOME,
        email="Ann.Lee@example.com",
        payment_methods=methods,
        orders=[one["order_id"] for one in orders],
    )
    product = Product(name="Mug", product_id="1", variants={id: variant(id) for id in _PRICES})
    lid = Product(
        name="Lid", product_id="2", variants={"lid": Variant(item_id="lid", options={}, available=True, price=1.0)}
    )
    return Records(
        users={"ann_lee_1": user}, products={"1": product, "2": lid}, orders={one["order_id"]: one for one in orders}
    )
