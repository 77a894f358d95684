"""Retail support: `INTENTION_APPLICATION=examples.retail:application`."""

from examples.retail.application import application

__all__ = ["application"]
