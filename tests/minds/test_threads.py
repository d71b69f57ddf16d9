"""The threads' way of waiting is set unless the user has set it."""

from __future__ import annotations

from realtime_harness.minds.threads import wait_without_spinning


def test_the_users_own_setting_stays() -> None:
    for given in ({"GOMP_SPINCOUNT": "7"}, {"OMP_WAIT_POLICY": "passive"}):
        environ = dict(given)
        wait_without_spinning(environ)
        assert environ == given


def test_without_one_threads_soon_sleep() -> None:
    environ: dict[str, str] = {}
    wait_without_spinning(environ)
    assert int(environ["GOMP_SPINCOUNT"]) <= 5000
