from tests.players.transformer.conftest import made  # noqa: F401
