"""A bank in a process of its own: the outside world of verification, with a ledger of what really happened and faults.

`python -m intention_kernel.verification.bank --port 0 --database FILE` serves it; `client` is how others speak to it,
`running` starts it, `steps` says what a turn of the application `payer` (`application`) does with it. Three operations
stand for three kinds of providers: a charge can be looked up and no more, a reservation's key can be closed, a notice is
deduplicated.
"""
