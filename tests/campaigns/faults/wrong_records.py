"""Everything that can be wrong with a record of the request topic, made from a seed.

Each kind makes bytes of its own for every number, so that two records of a kind are not the same record twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from intention_kernel.contracts.turn_request import MAX_REQUEST_BYTES
from intention_kernel.testing.broker import Headers
from intention_kernel.testing.draws import Draws

from tests.campaigns.traffic import AGENT

BOUND = "bound"
"""A thread whose turn `first` was sent before everything else: some records contradict it."""

ODD_HEADERS: Headers = (
    ("traceparent", b"\xff\xfe"),
    ("empty", None),
    ("", b""),
    ("twice", b"1"),
    ("twice", b"\x00"),
    ("reason", b"mine"),
    ("origin_offset", b"-1"),
)
"""Nothing reads them, and they are in nobody's way."""

_RECEIPT = "0123456789abcdef0123456789abcdef"
_SEVERAL = 7

Document = dict[str, object]
Record = tuple[bytes | None, bytes | None]
"""Key and value."""


@dataclass(frozen=True, slots=True)
class Maker:
    """What one record is made with: its number, which is in the bytes wherever bytes are free, and draws."""

    draws: Draws
    number: int

    @property
    def thread(self) -> str:
        """One of the threads that good records have, too."""
        return f"thread-{self.up_to(40)}"

    def up_to(self, most: int, what: str = "any") -> int:
        """At least 0 and below `most`."""
        return self.draws.number(most, "record", what, str(self.number))

    def one_of(self, *texts: str) -> str:
        """One of them."""
        return texts[self.up_to(len(texts), "one of")]

    def document(self, **members: object) -> Document:
        """A request that is good but for what `members` make of it."""
        good: Document = {
            "schemaVersion": 1,
            "threadId": self.thread,
            "turnId": f"wrong-{self.number}",
            "agentId": AGENT,
            "input": {"text": '{"steps": []}'},
        }
        return good | members

    def record(self, document: Document) -> Record:
        """It, under the key that belongs to it."""
        return str(document["threadId"]).encode(), json.dumps(document).encode()

    def request(self, **members: object) -> Record:
        """A record whose value is JSON and a request nevertheless not."""
        return self.record(self.document(**members))

    def without(self, name: str, **members: object) -> Record:
        """The same with a member left out."""
        document = self.document(**members)
        key = str(document["threadId"]).encode()
        del document[name]
        return key, json.dumps(document).encode()

    def text(self, text: str) -> Record:
        """These characters under the key of a thread."""
        return self.thread.encode(), text.encode()


@dataclass(frozen=True, slots=True)
class Kind:
    """`is_large` is of records near the largest that a broker takes."""

    make: Callable[[Maker], Record]
    is_large: bool = False


def bytes_of(kind: Kind, draws: Draws, number: int) -> Record:
    """Key and value of the record with that number."""
    return kind.make(Maker(draws, number))


def _cut(made: Maker) -> Record:
    whole = json.dumps(made.document()).encode()
    return made.thread.encode(), whole[: 1 + made.up_to(len(whole) - 1, "cut")]


def _noise(made: Maker) -> Record:
    length = 1 + made.up_to(64, "length")
    noise = bytes(made.up_to(256, f"byte {index}") for index in range(length))
    return made.thread.encode(), b"\x00" + noise


def _wrong_type(made: Maker) -> Record:
    member = made.one_of("threadId", "turnId", "agentId", "input", "trigger", "deadlineSeconds", "hostContext")
    wrong: tuple[object, ...] = (True, 7, 1.5, ["x"], [[]])
    document = made.document(**{member: wrong[made.up_to(len(wrong), "type")]})
    if member == "deadlineSeconds":
        document[member] = "soon"
    return made.thread.encode(), json.dumps(document).encode()


def _deep(made: Maker) -> Record:
    depth = 201 + made.up_to(5_000, "depth")
    return made.text('{"a":' * depth + str(made.number) + "}" * depth)


def _continuation(made: Maker, turn_id: str, **trigger: object) -> Record:
    whole = {"kind": "reconciliation", "receiptId": _RECEIPT, "settlement": 1} | trigger
    return made.without("input", turnId=turn_id, trigger=whole)


def _broken_utf8(made: Maker) -> Record:
    key, value = made.request(input={"text": "BROKEN"})
    assert value is not None
    return key, value.replace(b"BROKEN", (b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf8\x88")[made.up_to(4, "broken")])


def _no_finite_number(made: Maker) -> Record:
    number = made.one_of("NaN", "Infinity", "-Infinity", "1e400", "-1e999", "9" * 5_000, "0x10", "01", "1.", ".5")
    return made.text(json.dumps(made.document(hostContext={"n": "HERE"})).replace('"HERE"', number))


CHEAP = "JSON that ends too early"
"""A kind that costs little."""

KINDS: Mapping[str, Kind] = {
    CHEAP: Kind(_cut),
    "bytes without meaning": Kind(_noise),
    "no value": Kind(lambda made: (made.thread.encode(), None)),
    "an empty value": Kind(lambda made: (made.thread.encode(), b"")),
    "blanks": Kind(lambda made: made.text(" \t\n"[: 1 + made.up_to(3)])),
    "JSON that is no object": Kind(lambda made: made.text(made.one_of("[1, 2]", '"text"', "null", "true", "17"))),
    "two documents": Kind(lambda made: made.text(json.dumps(made.document()) + "{}")),
    "a byte order mark": Kind(lambda made: made.text("\ufeff" + json.dumps(made.document()))),
    "UTF-16": Kind(lambda made: (made.thread.encode(), json.dumps(made.document()).encode("utf-16"))),
    "broken UTF-8": Kind(_broken_utf8),
    "a duplicate member": Kind(lambda made: made.text('{"turnId": "a", ' + json.dumps(made.document())[1:])),
    "a number that is none, or not finite": Kind(_no_finite_number),
    "absurd depth": Kind(_deep),
    "a wrong type": Kind(_wrong_type),
    "an unknown member": Kind(lambda made: made.request(**{f"hostContxt{made.number}": {}})),
    "an unknown member with a strange name": Kind(lambda made: made.request(**{"a\0b\ud800": made.number})),
    "an unknown member of the input": Kind(lambda made: made.request(input={"text": "", "txt": made.number})),
    "a missing member": Kind(lambda made: made.without(made.one_of("schemaVersion", "turnId", "agentId", "input"))),
    "another schema version": Kind(lambda made: made.request(schemaVersion=2 + made.up_to(9))),
    "a schema version that is true": Kind(lambda made: made.request(schemaVersion=True)),
    "an absurd schema version": Kind(lambda made: made.request(schemaVersion=2**70 + made.number)),
    "an id of too many characters": Kind(lambda made: made.request(turnId="x" * (201 + made.up_to(300)))),
    "an id of too many bytes": Kind(lambda made: made.request(turnId="\N{KATAKANA LETTER A}" * (171 + made.up_to(29)))),
    "an empty id": Kind(lambda made: made.request(**{made.one_of("turnId", "agentId", "tenantId"): ""})),
    "a control character in an id": Kind(lambda made: made.request(turnId=f"a{chr(made.up_to(32))}{made.number}")),
    "a NUL in the thread id": Kind(lambda made: made.request(threadId=f"a\0{made.number}")),
    "a lone surrogate in an id": Kind(
        lambda made: made.request(turnId=chr(0xD800 + made.up_to(1024)) + str(made.number))
    ),
    "a thread id that no key can hold": Kind(
        lambda made: (made.thread.encode(), json.dumps(made.document(threadId=f"\udc00{made.number}")).encode())
    ),
    "no key": Kind(lambda made: (None, json.dumps(made.document()).encode())),
    "an empty key": Kind(lambda made: (b"", json.dumps(made.document()).encode())),
    "a key that is not the thread id": Kind(
        lambda made: (f"other-{made.number}".encode(), json.dumps(made.document()).encode())
    ),
    "a key that is not UTF-8": Kind(lambda made: (b"\xff\xfe\x80", json.dumps(made.document()).encode())),
    "a deadline that is none": Kind(
        lambda made: made.request(deadlineSeconds=(0, -1, 1e9, 2**70)[made.up_to(4, "deadline")])
    ),
    "a reserved turn id": Kind(lambda made: made.request(turnId=f"reconciliation:{made.number}")),
    "a continuation whose id is not the derived one": Kind(
        lambda made: _continuation(made, f"reconciliation:{_RECEIPT}:{2 + made.up_to(9)}:1")
    ),
    "a settlement that no column holds": Kind(
        lambda made: _continuation(made, f"reconciliation:{_RECEIPT}:{10**20}:1", settlement=10**20)
    ),
    "an issue that no column holds": Kind(
        lambda made: _continuation(made, f"reconciliation:{_RECEIPT}:1:{10**20 + made.number}")
    ),
    "a continuation with input": Kind(
        lambda made: made.request(
            turnId=f"reconciliation:{_RECEIPT}:1:1",
            trigger={"kind": "reconciliation", "receiptId": _RECEIPT, "settlement": 1},
        )
    ),
    "a continuation of nothing": Kind(
        lambda made: _continuation(made, f"reconciliation:{_RECEIPT}:1:{1 + made.up_to(_SEVERAL)}")
    ),
    "an unknown trigger": Kind(lambda made: made.request(trigger={"kind": f"cron{made.number}"})),
    "an unknown agent": Kind(lambda made: made.request(agentId=f"nobody-{made.number}")),
    "a tenant that does not have the thread": Kind(
        lambda made: made.request(threadId=BOUND, tenantId=f"tenant-{made.number}")
    ),
    "a turn id with other content": Kind(
        lambda made: made.request(threadId=BOUND, turnId="first", input={"text": f"other {made.number}"})
    ),
    "many unknown members": Kind(lambda made: made.request(**{f"u{index}": 1 for index in range(2_000)})),
    "too large": Kind(
        lambda made: made.request(input={"text": "x" * (MAX_REQUEST_BYTES + made.up_to(100_000))}), is_large=True
    ),
    "large and wrong": Kind(
        lambda made: made.request(input={"text": "y" * (950_000 + made.up_to(50_000)), "txt": 1}), is_large=True
    ),
}
"""By what is wrong."""
