"""An application and its loading."""

from intention_kernel.application.definition import Application, EventSink

__all__ = ["Application", "EventSink"]
