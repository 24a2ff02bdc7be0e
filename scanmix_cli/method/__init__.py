"""The paper, one stage a module."""
