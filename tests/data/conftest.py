"""How much the property tests of this folder try: `pytest tests/data --hypothesis-profile=thorough` tries far more."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "thorough",
    max_examples=5000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
