"""Every mutation there is, in the order of docs/mutations.md."""

from __future__ import annotations

from tests.stress.mutation import Mutation
from tests.stress.mutations_of_answers import ANSWERS
from tests.stress.mutations_of_approvals import APPROVALS
from tests.stress.mutations_of_boundary import BOUNDARY
from tests.stress.mutations_of_kernel import KERNEL
from tests.stress.mutations_of_machines import MACHINES
from tests.stress.mutations_of_protocol import PROTOCOL
from tests.stress.mutations_of_queue import QUEUE
from tests.stress.mutations_of_redrive import REDRIVE
from tests.stress.mutations_of_restore import RESTORE
from tests.stress.mutations_of_services import SERVICES
from tests.stress.mutations_of_telling import TELLING

MUTATIONS: tuple[Mutation, ...] = (
    *PROTOCOL,
    *BOUNDARY,
    *SERVICES,
    *KERNEL,
    *TELLING,
    *RESTORE,
    *REDRIVE,
    *QUEUE,
    *APPROVALS,
    *ANSWERS,
    *MACHINES,
)
