"""FAN-7: `INTENTION_APPLICATION=examples.fan7:application`."""

from examples.fan7.application import application

__all__ = ["application"]
