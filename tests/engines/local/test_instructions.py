"""A change of instructions says what changed, and no more. HRP 0.2.0, "session.update"."""

from __future__ import annotations

from realtime_harness.engines.local.instructions import CHANGED, change

PERSONA = "You are Sam, a kind person from Leeds.\nYou like tea and long walks.\nYou are in a study."


def test_guidance_added_to_the_persona_is_told_alone() -> None:
    told = change(PERSONA, f"{PERSONA}\n\nPart 2: disagree politely.")

    assert told.endswith("Now also: Part 2: disagree politely.")
    assert "Leeds" not in told


def test_guidance_that_replaces_earlier_guidance_says_what_no_longer_holds() -> None:
    told = change(f"{PERSONA}\nPart 1: agree with all of it.", f"{PERSONA}\nPart 2: disagree.")

    assert told.startswith(f'{CHANGED}those at the beginning hold, except from "Part 1: agree with all of it." on')
    assert told.endswith("Now also: Part 2: disagree.")
    assert "Leeds" not in told


def test_guidance_taken_away_is_told_without_the_persona() -> None:
    told = change(f"{PERSONA}\n\nPart 1: agree.", PERSONA)

    assert 'except from "Part 1: agree." on' in told
    assert "Leeds" not in told


def test_the_beginning_coming_back_is_one_sentence() -> None:
    assert (
        change(PERSONA, PERSONA)
        == f"{CHANGED}only those at the beginning hold now; what was changed since no longer does."
    )


def test_other_instructions_replace_all() -> None:
    assert (
        change(PERSONA, "You are a pirate.")
        == f"{CHANGED}these now hold in place of all earlier ones: You are a pirate."
    )


def test_none_at_all_is_told_too() -> None:
    assert "none of the earlier ones" in change(PERSONA, "")


def test_a_word_that_goes_on_is_not_the_same_word() -> None:
    assert "in place of all earlier ones: You are Samantha" in change("You are Sam", "You are Samantha")


def test_from_none_to_some() -> None:
    assert change("", "Be kind.") == f"{CHANGED}these now hold in place of all earlier ones: Be kind."
