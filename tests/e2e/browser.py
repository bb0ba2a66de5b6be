"""The mark of tests that need a browser."""

import os
import shutil

import pytest

needs_browser = pytest.mark.skipif(
    not os.environ.get("HOME_AGENT_BROWSER") or shutil.which("node") is None,
    reason="needs a Chromium and Node.js; scripts/test --e2e looks for them",
)
