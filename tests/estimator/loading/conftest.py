"""Tiny models in folders."""

from tests.specplan import model_folders

folders = model_folders.folders
