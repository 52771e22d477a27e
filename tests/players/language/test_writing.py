import pytest

from redqueen.players.language.writing import language_model
from redqueen.players.tabular import TabularPolicy
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError


def test_a_model_writes_and_a_table_does_not():
    model = Learner(model="tiny:hidden=16,heads=2").build_model(0)
    assert language_model(model) is model
    with pytest.raises(RedQueenError, match="learner is a table and cannot write"):
        language_model(TabularPolicy())
