"""Tiny models in folders."""

import model_folders

folders = model_folders.folders
