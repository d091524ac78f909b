"""What providers really answer: refusals for length with the numbers they state, and refusals that only look like it."""

from __future__ import annotations

from typing import Any

# (status, body, window, asked)
TOO_LONG: list[tuple[int | None, Any, int | None, int | None]] = [
    # OpenAI and those who copied its words
    (400, {"error": {"message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.", "code": "context_length_exceeded"}}, 128_000, 130_000),
    (400, {"error": {"message": "This model's maximum context length is 16385 tokens. However, your messages resulted in 17012 tokens (16800 in the messages, 212 in the functions). Please reduce the length of the messages or functions.", "code": "context_length_exceeded"}}, 16_385, 17_012),
    (400, {"error": {"message": "This model's maximum context length is 4097 tokens, however you requested 4927 tokens (3927 in your prompt; 1000 for the completion). Please reduce your prompt; or completion length."}}, 4_097, 3_927),
    (400, {"error": {"message": "Your input exceeds the context window of this model. Please adjust your input and try again.", "code": "context_length_exceeded"}}, None, None),
    (None, {"type": "error", "code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}, None, None),
    (400, {"error": {"message": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 301234 tokens. Please reduce the length of the messages.", "code": "context_length_exceeded"}}, 272_000, 301_234),
    (400, {"error": {"message": "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 tokens: 135000 tokens from the input messages and 5000 tokens for the completion."}}, 131_072, 135_000),
    # thousands separators and short forms
    (400, {"error": {"message": "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,512 tokens."}}, 128_000, 130_512),
    (400, {"error": {"message": "Maximum context length is 128k tokens, your prompt has 200k tokens."}}, 128_000, 200_000),
    (400, {"error": {"message": "The prompt contains 1_200_000 tokens; the maximum context length is 1_048_576."}}, 1_048_576, 1_200_000),
    # Anthropic, direct and on other clouds
    (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"}}, 200_000, 208_310),
    (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}, 200_000, 190_000),
    (400, "litellm.BadRequestError: AnthropicException - b'{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 1003245 tokens > 1000000 maximum\"}}'", 1_000_000, 1_003_245),
    (400, {"message": "Input is too long for requested model."}, None, None),
    (400, {"message": "The model returned the following errors: Input is too long for requested model."}, None, None),
    (None, {"message": "model_context_window_exceeded"}, None, None),
    (400, {"message": "Too many input tokens. Max input tokens: 8192, request input token count: 9000"}, 8_192, 9_000),
    (400, {"message": "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."}, None, None),
    (400, {"message": "This model's maximum context length is 8192 tokens. Please reduce the length of the prompt"}, 8_192, None),
    # Google
    (400, {"error": {"code": 400, "message": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", "status": "INVALID_ARGUMENT"}}, 1_048_575, 1_196_265),
    (400, [{"error": {"code": 400, "message": "The input token count exceeds the maximum number of tokens allowed 1048576.", "status": "INVALID_ARGUMENT"}}], 1_048_576, None),
    (400, {"error": {"message": "Unable to submit request because the input token count is 1200000 but model only supports up to 1048576. Reduce the input token count and try again."}}, 1_048_576, 1_200_000),
    # servers of one's own
    (400, {"error": {"code": 400, "message": "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9031, "n_ctx": 8192}}, 8_192, 9_031),
    (400, {"error": {"message": "the request exceeds the available context size. try increasing the context size or enable context shift"}}, None, None),
    (500, {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}, None, None),
    (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion). Please reduce the length of the messages or completion."}, 4_096, 4_500),
    (400, {"error": {"message": "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 500 input tokens (5000 > 4096 - 500)."}}, 4_096, 500),
    (400, {"error": {"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens."}}, 4_096, 5_000),
    (400, {"error": {"message": "You passed 5001 input tokens and requested 512 output tokens. However, the model's context length is only 4096 tokens. Please reduce the length of the input prompt."}}, 4_096, 5_001),
    (400, {"message": "max_tokens must be at least 1, got -904."}, None, None),
    (400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}, 4_096, 5_000),
    (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000 >= n_ctx: 4096)."}, 4_096, 5_000),
    (400, {"error": {"message": "input length exceeds the context length"}}, None, None),
    (400, {"error": "prompt too long; exceeded max context length by 123 tokens"}, None, None),
    (400, {"object": "error", "message": "The input (5000 tokens) is longer than the model's context length (4096 tokens)."}, 4_096, 5_000),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 100 `max_new_tokens`", "error_type": "validation"}, 8_193, 9_000),
    (422, {"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 5321"}, 4_095, 5_321),
    # others
    (400, {"object": "error", "message": "Prompt contains 130000 tokens and 0 draft tokens, too large for model with 128000 maximum context length", "code": "3051"}, 128_000, 130_000),
    (400, {"error": {"message": "Please reduce the length of the messages or completion.", "code": "context_length_exceeded"}}, None, None),
    (400, {"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}, 131_072, 140_000),
    (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}, None, None),
    (400, {"error": {"message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"}}, 129_024, None),
    (400, {"error": {"message": "Invalid request: Your request exceeded model token limit: 262144 (requested: 280123)", "type": "invalid_request_error"}}, 262_144, 280_123),
    (400, {"error": {"message": "invalid params, context window exceeds limit (2013)", "type": "bad_request_error"}}, None, None),
    (400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 135000. Try using a shorter prompt, or enabling prompt truncating."}, 128_000, 135_000),
    (400, {"message": "too many tokens: size limit exceeded by 11002 tokens. Try using shorter or fewer inputs."}, None, None),
    (400, {"error": {"message": "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (135000 of text input, 5000 in the output). Please reduce the length of either one."}}, 131_072, 135_000),
    (400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "{\"error\":{\"message\":\"prompt is too long: 208310 tokens > 200000 maximum\"}}", "provider_name": "x"}}}, 200_000, 208_310),
    (400, {"error": {"message": "prompt token count of 135505 exceeds the limit of 128000", "code": "model_max_prompt_tokens_exceeded"}}, 128_000, 135_505),
    (413, {"error": {"code": "tokens_limit_reached", "message": "Request body too large for gpt-4o model. Max size: 8000 tokens."}}, 8_000, None),
    (400, {"error": {"message": "Please reduce the length of the messages or completion. Current length is 70000 while limit is 65536", "code": "context_length_exceeded"}}, 65_536, 70_000),
    (400, {"error": {"message": "The maximum context length of Meta-Llama-3.1-8B is 8192. However, answering your request will take 9000 tokens. Please reduce the length of the messages."}}, 8_192, 9_000),
    (400, {"error": {"object": "error", "message": "The prompt is too long: 140000, model maximum context length: 131071"}}, 131_071, 140_000),
    (400, {"error": {"message": "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model"}}, 4_096, 5_000),
    (400, {"error": {"message": "Total tokens of image and text exceed max message tokens"}}, None, None),
    (400, {"error": {"message": "Input length 150000 exceeds the maximum length 131072"}}, 131_072, 150_000),
    (400, {"error": {"message": "Conversation is too long: 210000 tokens exceeds the limit of 200000 tokens."}}, 200_000, 210_000),
    (400, {"detail": "The context window of 32768 tokens was exceeded: the prompt has 40000 tokens."}, 32_768, 40_000),
    (400, {"error": {"message": "Context length 140000 exceeds the maximum of 131072."}}, 131_072, 140_000),
    (400, {"error": {"message": "Prompt length is 5000 tokens, which is more than the model's maximum of 4096 tokens."}}, 4_096, 5_000),
    (400, {"error": {"message": "prompt is too long: 5000 tokens exceeds the context limit by 904"}}, None, 5_000),
    (400, {"error": {"message": "Context overflow: 210000/200000 tokens, the prompt is too long"}}, 200_000, 210_000),
    (400, {"error": {"message": "Your prompt is longer than the model's context window (max 65536 tokens)."}}, 65_536, None),
]  # fmt: skip

# (status, body): refused for its bytes.
TOO_LARGE: list[tuple[int | None, Any]] = [
    (413, "too large"),
    (413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
    (400, {"error": {"message": "Request payload size exceeds the limit: 20971520 bytes."}}),
    (None, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum allowed number of bytes."}}),
    (400, {"error": {"message": "request body too large"}}),
]  # fmt: skip

# (status, body): nothing to do with the length of the conversation.
OTHER: list[tuple[int | None, Any]] = [
    # rates and money
    (413, {"error": {"message": "Request too large for model `llama` in organization `o` on tokens per minute (TPM): Limit 6000, Requested 10000, please reduce your message size and try again.", "type": "tokens", "code": "rate_limit_exceeded"}}),
    (429, {"error": {"message": "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 130000. The input or output tokens must be reduced in order to run successfully.", "type": "tokens", "code": "rate_limit_exceeded"}}),
    (429, {"error": {"message": "Rate limit reached for tokens per day (TPD): Limit 100000, Used 99000, Requested 4000."}}),
    (429, {"type": "error", "error": {"type": "rate_limit_error", "message": "This request would exceed your organization's rate limit of 30,000 input tokens per minute."}}),
    (429, {"message": "Too many tokens, please wait before trying again."}),
    (400, {"message": "Too many tokens per day, please wait before trying again."}),
    (402, {"error": {"message": "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 12000."}}),
    (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
    (429, {"error": {"message": "Extra usage is required for long context requests."}}),
    (400, {"error": {"message": "Number of request tokens has exceeded your daily rate limit"}}),
    # one string, files, images, tools
    (400, {"error": {"message": "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.", "code": "string_above_max_length"}}),
    (400, {"error": {"message": "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 53 instead.", "code": "string_above_max_length"}}),
    (400, {"error": {"message": "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.", "code": "array_above_max_length"}}),
    (400, {"error": {"message": "Too many tools: maximum number of tools is 128."}}),
    (400, {"error": {"message": "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5400000 bytes > 5242880 bytes"}}),
    (400, {"error": {"message": "At most 4 images may be provided in one request."}}),
    (400, {"error": {"message": "The uploaded file is too large: 60 MB, maximum is 50 MB."}}),
    (400, {"error": {"message": "A maximum of 100 PDF pages may be provided."}}),
    (400, {"error": {"message": "tools.0.custom.description: String should have at most 1024 characters"}}),
    # the answer alone
    (400, {"error": {"message": "max_tokens is too large: 200000. This model supports at most 16384 completion tokens, whereas you provided 200000.", "param": "max_tokens"}}),
    (400, {"type": "error", "error": {"message": "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x"}}),
    (400, {"error": {"message": "`max_tokens` must be less than or equal to `32768`, the maximum value for `max_tokens` is less than the `context_window` for this model", "param": "max_tokens"}}),
    (400, {"error": {"message": "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"}}),
    (400, {"error": {"message": "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"}}),
    (400, {"error": {"message": "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive)."}}),
    (400, {"message": "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096."}),
    (400, {"error": {"message": "`max_tokens` must be greater than `thinking.budget_tokens`."}}),
    (400, {"error": {"message": "max_tokens 5000 exceeds the maximum of 4096 completion tokens; the context length is unaffected"}}),
    # whatever else
    (400, {"error": {"message": "Invalid value for temperature"}}),
    (400, {"error": {"message": "messages: at least one message is required"}}),
    (400, {"error": {"message": "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after"}}),
    (401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}),
    (403, {"error": {"message": "Your plan does not include the long context window."}}),
    (404, {"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}),
    (404, "<html>nope</html>"),
    (408, {"error": {"message": "timeout"}}),
    (500, {"error": {"message": "boom"}}),
    (502, "<html>bad gateway</html>"),
    (503, {"error": {"message": "Loading model"}}),
    (529, {"error": {"message": "Overloaded", "type": "overloaded_error"}}),
    # an echo of the request is no statement about it
    (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 0, "x"], "msg": "Extra inputs are not permitted", "input": "This model's maximum context length is 4096 tokens."}]}),
]  # fmt: skip
