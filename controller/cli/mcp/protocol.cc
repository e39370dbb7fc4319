#include "controller/cli/mcp/protocol.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/mcp/tools.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli::mcp {
namespace {

// Revisions of the protocol, the newest first. Their difference is nothing that is used here.
constexpr std::array<std::string_view, 3> kRevisions{"2025-06-18", "2025-03-26", "2024-11-05"};

// The revision that the client asked for, or the newest.
std::string initialised(const Request& request) {
  const std::string wanted = text_of(request.parameters, "protocolVersion");
  const auto found = std::ranges::find(kRevisions, wanted);
  return fmt::format(
      R"({{"protocolVersion":"{}","capabilities":{{"tools":{{"listChanged":false}}}},"serverInfo":{{"name":"railgauge","title":"Railgauge","version":"{}"}},"instructions":{}}})",
      found == kRevisions.end() ? kRevisions.front() : *found, RAILGAUGE_VERSION,
      json_string(instructions()));
}

}  // namespace

tl::expected<std::string, Refusal> Protocol::result_of(const Request& request) {
  const auto refuse = [&](Fault fault, std::string why) {
    return tl::unexpected(
        Refusal{.fault = fault, .why = std::move(why), .id = request.id.value_or("null")});
  };
  if (request.method == "initialize") {
    // Capabilities and name of the client change nothing here.
    if (text_of(request.parameters, "protocolVersion").empty())
      return refuse(Fault::kBadParameters, "protocolVersion: a text is needed");
    return initialised(request);
  }
  if (request.method == "ping") return "{}";
  if (request.method == "tools/list") return tools_text();
  if (request.method == "tools/call") {
    auto answer = call_tool(reads_, request.parameters);
    if (!answer) return refuse(Fault::kBadParameters, answer.error());
    return std::move(*answer);
  }
  return refuse(Fault::kUnknownMethod,
                fmt::format("there is no method {}", in_quotes(request.method)));
}

std::optional<std::string> Protocol::answer_one(const Json& message) {
  bool ignored = false;
  const auto request = request_of(message, ignored);
  if (ignored) return std::nullopt;
  const auto refused = [this](const Refusal& refusal) {
    log_("mcp: refused: " + refusal.why);
    return fault_text(refusal);
  };
  if (!request) return refused(request.error());
  // A notification; also one that is no request of ours, as the protocol wants it.
  if (!request->id) return std::nullopt;
  const auto result = result_of(*request);
  return result ? result_text(*request->id, *result) : refused(result.error());
}

std::optional<std::string> Protocol::answer(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return std::nullopt;
  const auto message = read_json(line);
  if (!message) {
    log_("mcp: refused: " + message.error().message);
    return fault_text({.fault = Fault::kNoJson, .why = message.error().message});
  }
  if (message->kind_case() != Json::kListValue) return answer_one(*message);
  // A batch, which revision 2025-03-26 has.
  const auto& batch = message->list_value();
  if (batch.values().empty() || batch.values_size() > kMostBatch)
    return fault_text({.fault = Fault::kNoRequest,
                       .why = fmt::format("a batch has from 1 to {} messages", kMostBatch)});
  std::vector<std::string> answers;
  for (const Json& one : batch.values())
    if (auto text = answer_one(one)) answers.push_back(std::move(*text));
  if (answers.empty()) return std::nullopt;
  return fmt::format("[{}]", fmt::join(answers, ","));
}

std::string Protocol::answer_to_long_line() {
  return fault_text({.fault = Fault::kNoRequest,
                     .why = fmt::format("a line has more than {} bytes, the most", kMostLine)});
}

}  // namespace railgauge::cli::mcp
