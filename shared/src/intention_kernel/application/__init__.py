"""An application and its loading."""

from intention_kernel.application.definition import Application
from intention_kernel.runtime.events import EventSink

__all__ = ["Application", "EventSink"]
