"""A scripted Vercel Sandbox API over real HTTP for tests, whose machines really run what they are told to."""

import os

import pytest

from tests.vercel.server import PROJECT, TEAM, TOKEN, Garbage, Status, Vercel, serve_vercel

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the machines of the scripted Vercel")

__all__ = ["NEEDS_ROOT", "PROJECT", "TEAM", "TOKEN", "Garbage", "Status", "Vercel", "serve_vercel"]
