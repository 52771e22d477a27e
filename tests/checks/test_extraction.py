"""The answer in replies as models write them, and in answer columns as data sets have them."""

import pytest

from redqueen.checks.extraction import Kind, boxed, expected, final_number, given, kind_of, last_number, marked

N, F, C, T, D = Kind.NUMBER, Kind.FORMULA, Kind.CHOICE, Kind.TEXT, Kind.DATE
CITIES = ("Rome", "Paris", "Oslo", "Bern")

REPLIES = [
    # prose about numbers
    (N, "13", "13"),
    (N, "7 + 6 = 13.", "13"),
    (N, "The sum of 7 and 6 is 13!", "13"),
    (N, "It is -5.", "-5"),
    (N, "So x = −5", "-5"),
    (N, "5-3 is 2, so we get 5-2", "2"),
    (N, "She has 1,234,567 grains.", "1,234,567"),
    (N, "That makes $18.", "18"),
    (N, "That costs $1,234.50 in all.", "1,234.50"),
    (N, "About 12.5%", "12.5%"),
    (N, "Three quarters, or 3/4.", "3/4"),
    (N, "You need 1 1/2 cups of flour.", "1 1/2"),
    (N, "The pool holds 1.5e3 litres", "1.5e3"),
    (N, "It takes .5 hours.", ".5"),
    (N, "The temperature falls to -7°C", "-7"),
    (N, "Water is H2O and x2 is a name.", ""),
    (N, "He came 3rd.", ""),
    (N, "I cannot solve this.", ""),
    (N, "", ""),
    # GSM8K
    (N, "Janet sells 16 - 3 - 4 = <<16-3-4=9>>9 duck eggs a day.\n#### 18", "18"),
    (N, "He runs 3*3=9 sprints.\n#### 540 meters", "540 meters"),
    (N, "#### 5\nWait, that is wrong.\n#### 6", "6"),
    (N, "Step 1: 20 eggs. Step 2: 4 boxes.\n\nThe answer is 5.", "5"),
    (N, "**Answer:** 42 apples are left, of 50.", "42"),
    (N, "Final Answer: $70,000", "70,000"),
    (N, "The final answer is **160**.", "160"),
    (N, "Answer:\n12", "12"),
    (N, "The answer is 6 * 7 = 42.", "42"),
    (N, "The answer to the question is therefore 12 of 20.", "12"),
    (N, "The answer is 12.\nNo: the answer is 13.", "13"),
    (N, "The answer would be 50%.", "50%"),
    # MATH, with LaTeX
    (N, r"Thus the sum is $\boxed{\frac{3}{4}}$.", "3/4"),
    (N, r"\boxed{-\dfrac{1}{2}}", "-1/2"),
    (N, r"Hence $x = 5$, and \[\boxed{x = 5}.\]", "5"),
    (N, r"\boxed{10{,}000}", "10,000"),
    (N, r"\boxed{42\text{ cm}}", "42 cm"),
    (N, r"\boxed{90^\circ}", "90"),
    (N, r"\boxed{30\%}", "30%"),
    (N, r"\boxed{2^{10}}", "2^{10}"),
    (N, r"First \boxed{3}, but really \boxed{4}", "4"),
    (N, r"I think \boxed{3", ""),
    (N, r"We get $-\frac{7}{2}$ in the end.", "-7/2"),
    (F, r"The answer is $2\sqrt{3}$.", r"$2\sqrt{3}$"),
    (F, r"So $$\boxed{\left( 3, \frac{\pi}{2} \right)}$$", r"\left( 3, \frac{\pi}{2} \right)"),
    (F, "x^2 + 1", "x^2 + 1"),
    (T, r"\boxed{\text{Evelyn}}", "Evelyn"),
    # MMLU
    (C, "B", "B"),
    (C, "(C)", "C"),
    (C, "b.", "B"),
    (C, "B. Paris", "B"),
    (C, "B) Paris\n\nParis is the capital of France.", "B"),
    (C, "The answer is (C).", "C"),
    (C, "**Answer: D**", "D"),
    (C, "The correct option is B because Rome is in Italy.", "B"),
    (C, "The correct answer is C: Oslo", "C"),
    (C, "Paris", "B"),
    (C, "The answer is Oslo.", "C"),
    (C, "Rome is out. Oslo too.\n\nAnswer: A", "A"),
    (C, "I think a good one is hard to find.", ""),
    (C, "A or B", ""),
    (C, r"\boxed{\text{(D)}}", "D"),
    (C, "E. Berlin", ""),
    # prose
    (T, "Paris", "Paris"),
    (T, "The answer is Paris.", "Paris"),
    (T, "Answer: New York City. It is large.", "New York City"),
    (T, "I believe it was Paris.", "I believe it was Paris."),
    (T, "The answer is 3.5 metres. Sure.", "3.5 metres"),
    # thoughts
    (N, "<think>Maybe 3? No, 4.</think>It is 5.", "5"),
    (N, "Is it 3? No, 4.</think>\n\nIt is 5.", "5"),
    (N, "<think>Maybe 3? No, 4.", ""),
    (T, "<think>The answer is Rome.</think>Paris", "Paris"),
]


@pytest.mark.parametrize(("kind", "reply", "answer"), REPLIES)
def test_the_answer_in_a_reply(kind, reply, answer):
    assert given(reply, kind, CITIES if kind is C else ()) == answer


@pytest.mark.parametrize(
    ("entry", "answer"),
    [
        ("42", "42"),
        ("Natalia sold 48/2 = 24 clips in May.\n#### 72", "72"),
        (r"We find $x = 3$, so the answer is $\boxed{9}$.", "9"),
        ("The answer is Paris.", "Paris"),
        ("Answer: (B)", "(B)"),
        ("Paris", "Paris"),
        ("Sunlight holds all colours.", "Sunlight holds all colours."),
    ],
)
def test_the_answer_in_an_answer_column(entry, answer):
    assert expected(entry) == answer


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        *(("42", N), ("-3.5", N), ("3/4", N), (r"\frac{1}{2}", N), ("$1,000", N), ("12%", N), ("5 km", N)),
        *(("1 000 000", N), ("-12 500.5", N), ("12 500 7", T)),
        *(("x^2+1", F), (r"2\sqrt{3}", F), ("(3, 4)", F), ("x = 5", F), (r"\{1, 2\}", F)),
        *(("{2, -2}", F), ("{1/2, 3}", F), ("{red, blue}", T), ('{"a": 1, "b": 2}', T), ("{1}", T)),
        *(
            ("2021-05-02", D),
            ("It was on May 2, 2021.", D),
            ("1/2/2024", T),
            ("10-20", T),
            ("+1-555-0100", T),
            ("192.168.0.1", T),
            ("2-x", F),
        ),
        *(("Paris", T), ("B", T), ("10:30", T), ("five", T), ("the capital of France is Paris", T)),
    ],
)
def test_the_kind_of_an_answer(answer, kind):
    assert kind_of(answer) is kind


def test_a_worked_solution_ends_on_its_number():
    assert final_number("She had 3 apples. So 3 + 4 = 7 apples are left.") == "7"
    assert final_number("She had 3 apples. Some are left.") == ""
    assert final_number("So he pays $1,200 in all.") == "1,200"
    assert final_number("It was fought in 1066 near a town on the coast.") == ""
    assert last_number("3 and 4") == "4"


def test_a_box_is_closed_by_its_own_brace_and_an_open_one_marks_nothing():
    assert boxed(r"\boxed{\frac{1}{2}} and more }") == r"\frac{1}{2}"
    assert boxed(r"\boxed{\{1, 2\}}") == r"\{1, 2\}"
    assert boxed(r"\boxed{1") == marked(r"The answer is 1, \boxed{1") == ""


def test_a_date_is_found_within_a_sentence():
    assert given("It began on May 2nd, 2021, a Sunday.", D) == "2021-05-02"
    assert given("Not on 2020-01-01. The answer is 2 May 2021.", D) == "2021-05-02"
    assert given("In 2021.", D) == ""
