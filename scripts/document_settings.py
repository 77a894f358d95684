"""Writes docs/settings.md from the settings classes, or says with --check that it is not what they generate."""

from __future__ import annotations

import sys
from pathlib import Path

from intention_kernel.models.settings import ModelSettings
from intention_kernel.settings import ProcessSettings, Variable, variables
from outbox_relay.settings import RelaySettings
from receipt_reconciler.settings import ReconcilerSettings
from turn_runner.settings import RunnerSettings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"

HEAD = """# Settings

Every setting is an environment variable. A process reads them once, checks them as a whole, and ends with exit code 2 and one
message that lists all that is wrong. Generated from the settings classes by `make settings`.

| variable | default | read by | what it says |
|---|---|---|---|
"""

MODELS = """
The two processes that load the application read these as well where it calls `gateway_from_environment()`
([models](models.md)). Without any of them there is no gateway.

| variable | default | what it says |
|---|---|---|
"""

OTHERS = """
Beside them: `INTENTION_TEST_SERVERS` (`embedded`, the default; `docker`; `external`) chooses the servers of the tests, and
addresses that are set always win; `FAN7_INVENTORY_URL` tells the FAN-7 example where its inventory is. The `intention` command
reads `INTENTION_DATABASE_URL`, `INTENTION_KAFKA_BOOTSTRAP_SERVERS`, `INTENTION_TOPIC_PREFIX` and `INTENTION_APPLICATION`, and
where the environment names neither server, all that it does not name from `.intention/env`, which `intention dev` writes.
`INTENTION_CACHE` is the folder for the jars of the embedded Kafka; without it, `.cache` in the checkout.
"""


def page() -> str:
    """The whole page."""
    classes: dict[str, type[ProcessSettings]] = {
        "turn-runner": RunnerSettings,
        "outbox-relay": RelaySettings,
        "receipt-reconciler": ReconcilerSettings,
    }
    readers: dict[Variable, list[str]] = {}
    for process, settings_class in classes.items():
        for variable in variables(settings_class):
            readers.setdefault(variable, []).append(process)
    rows = "".join(_row(variable, processes, len(classes)) for variable, processes in readers.items())
    models = "".join(_model_row(variable) for variable in variables(ModelSettings))
    return HEAD + rows + MODELS + models + OTHERS


def _row(variable: Variable, processes: list[str], all_of_them: int) -> str:
    default = "required" if variable.default is None else f"`{variable.default}`" if variable.default else "empty"
    by = "all three" if len(processes) == all_of_them else ", ".join(f"`{process}`" for process in processes)
    return f"| `{variable.name}` | {default} | {by} | {_description(variable)} |\n"


def _model_row(variable: Variable) -> str:
    return f"| `{variable.name}` | {f'`{variable.default}`' if variable.default else 'empty'} | {_description(variable)} |\n"


def _description(variable: Variable) -> str:
    return variable.description.replace("|", "\\|")


def main() -> None:
    """Write the page, or check it."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text("utf-8") != page():
        sys.exit(f"{PAGE.name} is not what the settings classes generate: run `make settings` and commit the result")


if __name__ == "__main__":
    main()
