"""The methods on tables of preferences are recipes with settings of their own."""

import pytest

from experiments.spo import PREFERENCE_TABLES


@pytest.mark.parametrize("variant", PREFERENCE_TABLES.variants)
def test_each_variant_names_a_method_that_has_a_config(variant):
    config = PREFERENCE_TABLES.config_of(variant)
    assert getattr(config, config.method).problems == 1
