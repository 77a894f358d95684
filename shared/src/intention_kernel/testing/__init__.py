"""What adopters test with: an agent in this process, a scripted model, conversations (docs/testing.md).

The contract suites for adapters of the durable boundary are modules of their own beside these; `intention verify` runs most of
them on a database of yours, `misbehaviour_contract` needs pytest.
"""

from intention_kernel.clock import ManualClock
from intention_kernel.memory.store import MemoryStore
from intention_kernel.models.script import ConversationScript, ScriptLine, fails
from intention_kernel.models.scripted import Rule, ScriptedGateway
from intention_kernel.testing.collecting import EventCollector
from intention_kernel.testing.in_process import START, MemoryDurability
from intention_kernel.testing.seen import SeenEvent
from intention_kernel.testing.spoken import SpokenTurn
from intention_kernel.testing.talk import Talk

__all__ = [
    "START",
    "ConversationScript",
    "EventCollector",
    "ManualClock",
    "MemoryDurability",
    "MemoryStore",
    "Rule",
    "ScriptLine",
    "ScriptedGateway",
    "SeenEvent",
    "SpokenTurn",
    "Talk",
    "fails",
]
