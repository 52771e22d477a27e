"""What is written after --ROLE.template and --ROLE.prompt."""

import pytest

from redqueen.settings.speech import Speech, template_arguments, wording
from redqueen.types import RedQueenError


def test_arguments_of_a_template_are_read_as_they_are_meant():
    words = ("enable_thinking=false", "style=terse", "effort=3", 'name="3"', "on=True", "none=None", "empty=")
    assert template_arguments(words) == {
        "enable_thinking": False,
        "style": "terse",
        "effort": 3,
        "name": "3",
        "on": True,
        "none": None,
        "empty": "",
    }
    with pytest.raises(RedQueenError, match="is NAME=VALUE, as in enable_thinking=false: not 'thinking'"):
        template_arguments(("thinking",))


def test_a_prompt_file_holds_a_place_for_what_is_asked(tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text("You are a teacher.\n{prompt}\n")
    assert wording(file) == "You are a teacher.\n{prompt}"
    file.write_text("You are a teacher.")
    with pytest.raises(RedQueenError, match=r"has no \{prompt\}, which stands for what the role is asked"):
        wording(file)
    with pytest.raises(RedQueenError, match="cannot read the prompt file"):
        wording(tmp_path / "nothing.txt")


def test_what_was_given_is_known_by_name():
    assert Speech().given == ()
    assert Speech(answer="json", stop=("x",)).given == ("answer", "stop")
