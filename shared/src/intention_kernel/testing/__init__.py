"""What adopters test with: the memory durability, and the contract suites (which need pytest)."""

from intention_kernel.memory.store import MemoryStore

__all__ = ["MemoryStore"]
