"""Models of the shapes that people train, with random weights and the chat templates that these models have: one step
of a recipe of each family, through folders as `--model FOLDER` reads them.

The templates are read from the package TRL (Apache-2.0), which keeps copies of those of the models' makers; nothing of
them is kept here. SmolLM3's is not among them: its shape is tried with Qwen 2.5's, of the same marks.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from redqueen.contracts.recipes import metrics, small, trained
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.transformer.loading import load_model, tiny_tokenizer
from redqueen.runs.folder import stored_episodes
from redqueen.settings.finding import find_recipe
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Message, Seat

pytestmark = pytest.mark.slow
TRL = importlib.util.find_spec("trl")  # not imported: it is only a carrier
if TRL is None or TRL.origin is None:
    pytest.skip("TRL, which ships the templates, is not installed: pip install trl", allow_module_level=True)
TEMPLATES = Path(TRL.origin).parent / "chat_templates"
SIZES = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}
WINDOW = 16  # tokens that a layer of the Gemma looks back
# the config class and what is the shape's own, its template, the tokens of the template, and the end of a turn
SHAPES = {
    "qwen3": (
        ("Qwen3Config", {"num_key_value_heads": 1, "head_dim": 8}),
        "qwen3",
        ("<|im_start|>", "<|im_end|>"),
        "<|im_end|>",
    ),
    "llama": (
        ("LlamaConfig", {"num_key_value_heads": 1, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}),
        "llama3",
        ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        "<|eot_id|>",
    ),
    "gemma3": (
        (
            "Gemma3TextConfig",
            {
                "num_key_value_heads": 1,
                "head_dim": 8,
                "query_pre_attn_scalar": 8,
                "sliding_window": WINDOW,
                "layer_types": ["sliding_attention", "full_attention"],
            },
        ),
        "gemma3",
        ("<bos>", "<start_of_turn>", "<end_of_turn>"),
        "<end_of_turn>",
    ),
    "smollm3": (
        ("SmolLM3Config", {"num_key_value_heads": 1, "no_rope_layers": [1, 0]}),  # the second layer knows no places
        "qwen2_5",
        ("<|im_start|>", "<|im_end|>"),
        "<|im_end|>",
    ),
}
FAMILIES = {
    "adversaries": ("self_redteam", {}),
    "credit": ("grpo", {}),
    "curricula": ("sec", {}),
    "games": ("spiral", {"game": "kuhn_poker", "matches_per_step": 4}),
    "labels": ("evol_rl", {}),
    "preferences": ("iterative_dpo", {}),
    "proposers": ("absolute_zero", {"proposals": 2}),
    "self_training": ("rise", {}),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder of a model of each shape, made when it is first asked for."""
    import transformers

    place, made = tmp_path_factory.mktemp("shapes"), {}

    def folder(shape):
        if shape not in made:
            (kind, own), template, special, _ = SHAPES[shape]
            tokenizer = tiny_tokenizer()
            tokenizer.add_special_tokens({"additional_special_tokens": list(special)})
            if special[0].startswith(("<|begin", "<bos")):
                tokenizer.bos_token = special[0]
            tokenizer.chat_template = (TEMPLATES / f"{template}.jinja").read_text()
            ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.eos_token_id}
            ends["bos_token_id"] = tokenizer.bos_token_id
            config = getattr(transformers, kind)(vocab_size=len(tokenizer), **SIZES, **own, **ends)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                model = transformers.AutoModelForCausalLM.from_config(config)
            made[shape] = place / shape
            model.save_pretrained(made[shape])
            tokenizer.save_pretrained(made[shape])
        return str(made[shape])

    return folder


@pytest.mark.parametrize("shape", SHAPES)
def test_a_prompt_is_what_the_makers_template_says(shape, folders):
    tokenizer = load_model(folders(shape), torch.float32, "cpu").tokenizer
    chat = ChatFormat(tokenizer, "Be brief.")
    ask = Ask(Seat("solver"), (Message("game", "6 * 7?"),))
    system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "6 * 7?"}
    theirs = tokenizer.apply_chat_template([system, user], tokenize=False, add_generation_prompt=True)
    assert chat.prompt(ask).tolist() == tokenizer.encode(theirs, add_special_tokens=False)
    assert tokenizer.decode(chat.end) == SHAPES[shape][3]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_step_of_each_family_trains_it(family, shape, folders, tmp_path):
    name, changes = FAMILIES[family]
    recipe = find_recipe(name)
    kind = type(small(recipe).learner) if isinstance(small(recipe).learner, Learner) else Learner
    learner = kind(model=folders(shape), lora_rank=2, max_completion_length=4, learning_rate=1e-2)
    if family == "games":
        learner = replace(learner, answer="boxed")
    config = small(recipe, learner=learner, steps=1, problems=2, **changes)
    run = trained(recipe, config, tmp_path)
    (line, *_) = metrics(run)
    assert line["step"] == 0
    asks = [turn.ask for _, episode, _ in stored_episodes(tmp_path) for turn in episode.turns]
    assert asks
    opening = SHAPES[shape][2][-2]  # of a turn, or of its head
    decoded = load_model(folders(shape), torch.float32, "cpu").tokenizer
    replies = [turn.reply for _, episode, _ in stored_episodes(tmp_path) for turn in episode.turns]
    shown = [decoded.decode(reply.prompt_tokens) for reply in replies if len(reply.prompt_tokens)]
    assert shown
    assert all(opening in text for text in shown)


@pytest.mark.parametrize("shape", SHAPES)
def test_log_probabilities_of_packed_rows_are_those_of_padded_ones(shape, folders):
    from redqueen.players.transformer.policy import TransformerPolicy

    model = load_model(folders(shape), torch.float32, "cpu").model
    policy = TransformerPolicy(load_model(folders(shape), torch.float32, "cpu"), learns=False)
    prefix = tuple(range(30, 30 + 2 * WINDOW))  # longer than the window of the Gemma
    rows = [((*prefix, 100 + n, 110 + n, 120 + n), len(prefix)) for n in range(3)] + [((7, 8, 9), 1)]
    ours = [value for value, _ in policy.verbatim().rate(rows)]
    longest = max(len(tokens) for tokens, _ in rows)
    padded = torch.tensor([[*tokens, *[0] * (longest - len(tokens))] for tokens, _ in rows])
    with torch.no_grad():
        logprobs = model(input_ids=padded).logits.log_softmax(-1)
    theirs = [
        sum(float(logprobs[row, at - 1, tokens[at]]) for at in range(start, len(tokens)))
        for row, (tokens, start) in enumerate(rows)
    ]
    assert ours == pytest.approx(theirs, abs=1e-4)
