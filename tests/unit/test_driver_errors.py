"""What a failed statement means: a value that was refused, or a server that is in trouble (protocol R11)."""

from __future__ import annotations

import asyncpg
import pytest
from intention_kernel.postgres.errors import Trouble, classify, unanswered


def said(sqlstate: str, function: str = "somewhere") -> asyncpg.PostgresError:
    """The driver's error for what a server says."""
    fields = {"S": "ERROR", "V": "ERROR", "C": sqlstate, "M": "what happened", "R": function}
    error = asyncpg.exceptions.PostgresError.new(fields)
    assert isinstance(error, asyncpg.PostgresError)
    return error


@pytest.mark.parametrize(
    "sqlstate",
    [
        "08006",  # connection_failure
        "25006",  # read_only_sql_transaction: a standby, or somebody set it
        "25P03",  # idle_in_transaction_session_timeout
        "53000",  # insufficient_resources
        "53100",  # disk_full
        "53200",  # out_of_memory
        "53300",  # too_many_connections
        "53400",  # configuration_limit_exceeded, such as temp_file_limit
        "55000",  # object_not_in_prerequisite_state
        "57014",  # query_canceled, by the statement timeout
        "57P01",  # admin_shutdown
        "57P02",  # crash_shutdown
        "57P03",  # cannot_connect_now
        "57P04",  # database_dropped
        "57P05",  # idle_session_timeout
        "58000",  # system_error
        "58030",  # io_error
        "58P01",  # undefined_file
        "XX000",  # internal_error, which a file that is too large is, too
        "XX001",  # data_corrupted
        "28P01",  # invalid_password
        "3D000",  # invalid_catalog_name
        "99999",  # whatever comes
    ],
)
def test_a_server_in_trouble_decides_nothing(sqlstate: str) -> None:
    assert classify(said(sqlstate)) is Trouble.RECONNECT


@pytest.mark.parametrize("sqlstate", ["22001", "22P05", "23505", "23514", "54000", "54001", "IK001", "P0001"])
def test_a_value_that_the_server_refuses_is_that_rows_own_failure(sqlstate: str) -> None:
    assert classify(said(sqlstate)) is Trouble.REFUSED


@pytest.mark.parametrize("function", ["GetNewTransactionId", "GetNewMultiXactId", "mdextend", "mdzeroextend"])
def test_a_limit_of_the_server_itself_is_no_values_fault(function: str) -> None:
    assert classify(said("54000", function)) is Trouble.RECONNECT
    assert classify(said("54000", "index_form_tuple_context")) is Trouble.REFUSED


@pytest.mark.parametrize(
    "error", [ConnectionResetError(), TimeoutError(), asyncpg.InterfaceError("the connection is closed")]
)
def test_a_connection_that_is_lost_decides_nothing(error: Exception) -> None:
    assert classify(error) is Trouble.RECONNECT
    assert "the database did not answer" in str(unanswered(error))
