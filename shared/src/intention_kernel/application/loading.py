"""`INTENTION_APPLICATION=module:attribute`: import it, and open its ports (interface 1)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType

from intention_kernel.agent.effect import NamedPorts, Ports
from intention_kernel.application.definition import Application
from intention_kernel.errors import ConfigurationError

VARIABLE = "INTENTION_APPLICATION"


def load_application(name: str) -> Application:
    """The application that `name` ("module:attribute") names. Raises ConfigurationError that says what is wrong.

    Modules of the working directory are found, which a console script alone would not do.
    """
    module_name, colon, attribute = name.partition(":")
    if not module_name or not colon or not attribute or module_name.startswith("."):
        raise ConfigurationError(f"{VARIABLE}: {name!r} is not module:attribute, such as examples.fan7:application")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        ours = module_name == missing or module_name.startswith(f"{missing}.")
        hint = "is it in this folder, installed, or its folder on PYTHONPATH?" if ours else "a dependency?"
        raise ConfigurationError(f"{VARIABLE}: no module named {missing!r} ({hint})") from error
    found = getattr(module, attribute, None)
    if not isinstance(found, Application):
        what = "no such attribute" if found is None else f"it is no Application, but of type {type(found).__name__}"
        raise ConfigurationError(f"{VARIABLE}: {name}: {what}; {_applications(module)}")
    return found


def _applications(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Application)]
    if names:
        return f"did you mean {' or '.join(f'{module.__name__}:{name}' for name in names)}?"
    return "that module has no Application: write application = Application(...)"


@asynccontextmanager
async def open_ports(application: Application) -> AsyncIterator[Ports]:
    """Enter the application's port factories, in order; they are left in reverse. What one raises is its own error."""
    async with AsyncExitStack() as stack:
        ports = NamedPorts()
        for name, factory in application.ports.items():
            ports[name] = await stack.enter_async_context(factory())
        yield ports
