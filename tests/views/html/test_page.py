"""One page with its data in it: nothing that was said can become markup."""

import json

from redqueen.views.html.page import as_data, rendered

HOSTILE = {"a": "</script><!-- <script>\u2028 & \u2029"}


def test_data_cannot_leave_their_element():
    text = as_data(HOSTILE)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == HOSTILE


def test_a_page_in_a_file_states_its_policy_and_a_served_one_names_a_nonce():
    filed = rendered("title", "", "", HOSTILE)
    served = rendered("title", "", "", HOSTILE, nonce="abc")
    assert "http-equiv" in filed and "nonce" not in filed
    assert "http-equiv" not in served and served.count(' nonce="abc"') == 2


def test_a_title_is_text():
    assert "<title>&lt;b&gt;</title>" in rendered("<b>", "", "", {})
