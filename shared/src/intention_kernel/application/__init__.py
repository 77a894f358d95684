"""An application, its loading, and the models that the environment names."""

from intention_kernel.application.definition import Application
from intention_kernel.models.environment import gateway_from_environment
from intention_kernel.runtime.events import EventSink

__all__ = ["Application", "EventSink", "gateway_from_environment"]
