"""lm-eval's own `hf` model is the oracle: on task files of reasoning-gym's problems both must give the same answers."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from redqueen.adapters.lm_eval import as_lm, marks
from redqueen.players.transformer.loading import load_model, tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import RedQueenError

pytest.importorskip("lm_eval")
reasoning_gym = pytest.importorskip("reasoning_gym")

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]  # the library's own warnings
TASKS = {
    "choice": """output_type: multiple_choice
doc_to_text: "{{question}}\\nAnswer:"
doc_to_choice: choices
doc_to_target: answer
metric_list: [{metric: acc}, {metric: acc_norm}]""",
    "rolling": """output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{question}} {{gold}}"
metric_list: [{metric: word_perplexity}]""",
    "free": """output_type: generate_until
doc_to_text: "{{question}}\\nAnswer:"
doc_to_target: "{{gold}}"
generation_kwargs: {until: ["e"], max_gen_toks: 12}
metric_list: [{metric: exact_match}]""",
}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """The task files by name, with eight documents and four worked examples of reasoning-gym's chain_sum."""
    folder = tmp_path_factory.mktemp("tasks")
    rows = []
    for problem in reasoning_gym.create_dataset("chain_sum", size=12, seed=5):
        right = int(problem["answer"])
        choices = [str(right + step) for step in (1, 0, -1, 10)]
        rows.append({"question": problem["question"], "choices": choices, "answer": 1, "gold": problem["answer"]})
    for name, part in (("test", rows[:8]), ("train", rows[8:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    data = f"""dataset_path: json
dataset_kwargs: {{data_files: {{train: "{folder}/train.jsonl", test: "{folder}/test.jsonl"}}}}
test_split: test
fewshot_split: train
"""
    files = {}
    for name, rest in TASKS.items():
        files[name] = folder / f"{name}.yaml"
        files[name].write_text(f"task: sums_{name}\n{data}{rest}\n")
    return files


def policy(context=None):
    found = TransformerPolicy(tiny_model(seed=3), learns=False)
    if context is not None:
        found.forward.longest = context
    return found


def of_lm_eval(context=None):
    from lm_eval.models.huggingface import HFLM

    loaded = tiny_model(seed=3)
    return HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=3, max_length=context, device="cpu")


def answers(lm, file, shots=0):
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

    found = simple_evaluate(
        lm,
        tasks=[str(file)],
        task_manager=TaskManager(include_defaults=False),
        num_fewshot=shots,
        bootstrap_iters=0,
        random_seed=None,
        numpy_random_seed=None,
        torch_random_seed=None,
    )
    (samples,) = found["samples"].values()
    return [response[0] for sample in sorted(samples, key=lambda each: each["doc_id"]) for response in sample["resps"]]


@pytest.mark.parametrize("shots", [0, 3])
def test_answers_are_rated_as_by_its_own_model(tasks, shots):
    ours, theirs = (answers(lm, tasks["choice"], shots) for lm in (as_lm(policy().verbatim()), of_lm_eval()))
    assert len(ours) == 8 * 4
    assert [value for value, _ in ours] == pytest.approx([value for value, _ in theirs], abs=1e-4)
    assert [greedy for _, greedy in ours] == [greedy for _, greedy in theirs]


def test_texts_are_rated_as_by_its_own_model(tasks):
    ours, theirs = (answers(lm, tasks["rolling"], None) for lm in (as_lm(policy().verbatim()), of_lm_eval()))
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert max(ours) < -10.0


def test_in_float64_both_are_equal_so_that_nothing_but_rounding_keeps_them_apart(tasks):
    from lm_eval.models.huggingface import HFLM

    loaded = tiny_model(seed=3)
    loaded.model.double()
    theirs = HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=1, device="cpu")
    expected = answers(theirs, tasks["rolling"], None)
    ours = answers(as_lm(TransformerPolicy(loaded, learns=False).verbatim()), tasks["rolling"], None)
    assert ours == pytest.approx(expected, abs=1e-9)


def test_of_a_real_model_ours_is_no_further_from_the_truth_than_theirs_by_rounding():
    """SmolLM2 on a text of 102 tokens; the truth is its own forward pass in float64."""
    text = (
        "A merchant bought nine crates of apples and sold four of them before noon. The rest he kept until the "
        "evening, when a woman came and asked what they would cost. "
    ) + "He named a price; she laughed, and went on to the next stall, where the same apples lay. " * 3
    found = {}
    for dtype in (torch.float64, torch.float32):
        loaded = load_model("smollm2-135m", dtype, "cpu")
        row = tuple(loaded.tokenizer.encode(text))
        found["ours", dtype] = TransformerPolicy(loaded, learns=False).verbatim().rate([(row, 1)])[0][0]
        with torch.no_grad():
            logprobs = loaded.model(torch.tensor([row]), use_cache=False).logits[0, :-1].log_softmax(-1)
        found["theirs", dtype] = float(logprobs.gather(1, torch.tensor(row[1:])[:, None]).sum())
    truth = found["theirs", torch.float64]
    ours, theirs = (abs(found[who, torch.float32] - truth) for who in ("ours", "theirs"))
    print(
        f"\n{len(row)} tokens of {truth:.4f} nats; rounded in float32: ours by {ours:.1e}, transformers by {theirs:.1e}"
    )
    assert found["ours", torch.float64] == pytest.approx(truth, abs=1e-9)
    assert ours < max(theirs, 1e-6 * abs(truth))


def test_a_text_longer_than_the_context_is_rated_in_the_same_windows(tasks):
    ours, theirs = (answers(lm, tasks["rolling"], None) for lm in (as_lm(policy(16).verbatim()), of_lm_eval(16)))
    assert ours == pytest.approx(theirs, abs=1e-4)
    whole = answers(as_lm(policy().verbatim()), tasks["rolling"], None)
    assert ours != pytest.approx(whole, abs=1e-4)  # the windows did cut


def test_a_prompt_longer_than_the_context_loses_its_beginning(tasks):
    ours, theirs = (answers(lm, tasks["choice"]) for lm in (as_lm(policy(12).verbatim()), of_lm_eval(12)))
    assert [value for value, _ in ours] == pytest.approx([value for value, _ in theirs], abs=1e-4)


@pytest.mark.parametrize("shots", [0, 3])
def test_continuations_are_those_of_its_own_model_up_to_the_stop(tasks, shots):
    ours, theirs = (answers(lm, tasks["free"], shots) for lm in (as_lm(policy().verbatim()), of_lm_eval()))
    assert ours == theirs
    assert any(ours)
    assert not any("e" in text for text in ours)


def test_the_first_token_of_a_text_alone_is_rated_after_the_end_token():
    lm = as_lm(policy().verbatim())
    request = SimpleNamespace(args=("", " 7 + 5"))
    ((ours, _),) = lm.loglikelihood([request], disable_tqdm=True)
    loaded = tiny_model(seed=3)
    row = [loaded.tokenizer.eos_token_id, *loaded.tokenizer.encode(" 7 + 5")]
    with torch.no_grad():
        logprobs = loaded.model(torch.tensor([row])).logits[0].log_softmax(-1)
    by_hand = sum(float(logprobs[at, token]) for at, token in enumerate(row[1:]))
    assert ours == pytest.approx(by_hand, abs=1e-4)


def test_a_prefix_that_rows_share_is_read_once(monkeypatch):
    model = policy().verbatim()
    read = []
    hidden = model._forward.hidden
    monkeypatch.setattr(
        model._forward, "hidden", lambda tokens, *rest: read.append(len(tokens)) or hidden(tokens, *rest)
    )
    prefix = tuple(range(20, 120))
    rows = [((*prefix, 130 + n, 140 + n), 101) for n in range(5)]
    together = model.rate(rows)
    assert sum(read) == 100 + 5  # the last token of a row is rated and not read
    model.rate([((*prefix, 200), 100)])
    assert sum(read) == 100 + 5 + 1  # of an earlier call: the state that rates is computed anew, its keys are not
    alone = [policy().verbatim().rate([row])[0][0] for row in rows]
    assert [value for value, _ in together] == pytest.approx(alone, abs=1e-5)


def test_marks_hold_each_document_and_say_which_way_is_better(tasks):
    found = marks(policy().verbatim(), [str(tasks["choice"]), str(tasks["rolling"])], most=6)
    assert [(mark.task, mark.figure, len(mark.each)) for mark in found] == [
        ("sums_choice", "acc", 6),
        ("sums_choice", "acc_norm", 6),
        ("sums_rolling", "word_perplexity", 0),  # no mean over documents
    ]
    assert [mark.higher_is_better for mark in found] == [True, True, False]
    assert found[0].value == pytest.approx(sum(found[0].each) / 6)


def test_a_sampled_continuation_depends_on_its_seed_alone(tasks):
    request = SimpleNamespace(args=("The card is", {"do_sample": True, "temperature": 1.0, "max_gen_toks": 6}), idx=0)
    other = SimpleNamespace(args=("Another prompt", {"max_gen_toks": 6, "until": []}), idx=1)
    (alone,) = as_lm(policy().verbatim(), seed=1).generate_until([request])
    assert as_lm(policy().verbatim(), seed=1).generate_until([other, request])[1] == alone
    assert as_lm(policy().verbatim(), seed=2).generate_until([request]) != [alone]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["nix.yaml"], "there is no task file nix.yaml"),
        (["arc_eazy"], "did you mean arc_easy"),
    ],
)
def test_a_task_that_is_not_there_is_one_line(names, said):
    with pytest.raises(RedQueenError, match=said):
        marks(policy().verbatim(), names)


def test_a_task_of_the_hub_is_one_line_without_a_network(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(RedQueenError, match="does not answer from here, and not in the cache: name task files"):
        marks(policy().verbatim(), ["arc_easy"], online=lambda: False)


def test_a_task_file_without_its_data_is_one_line(tasks, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text(tasks["choice"].read_text().replace("test.jsonl", "gone.jsonl"))
    with pytest.raises(RedQueenError, match=r"lm-eval cannot ask .*broken\.yaml"):
        marks(policy().verbatim(), [str(broken)])


def test_settings_of_sampling_that_are_not_done_are_refused():
    request = SimpleNamespace(args=("a", {"repetition_penalty": 1.2}), idx=0)
    with pytest.raises(RedQueenError, match=r"repetition_penalty=1\.2, which is not done here"):
        as_lm(policy().verbatim()).generate_until([request])


def test_without_the_package_the_line_names_the_extra():
    script = (
        "import sys\nsys.modules['lm_eval'] = None\nfrom redqueen.adapters.lm_eval import marks\n"
        "try:\n    marks(None, ['x'])\nexcept Exception as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'redqueen[lm-eval]'" in done.stdout
