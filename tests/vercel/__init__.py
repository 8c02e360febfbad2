"""A scripted Vercel Sandbox API over real HTTP for tests, whose machines really run what they are told to."""

from tests.vercel.server import PROJECT, TEAM, TOKEN, Garbage, Status, Vercel, serve_vercel

__all__ = ["PROJECT", "TEAM", "TOKEN", "Garbage", "Status", "Vercel", "serve_vercel"]
