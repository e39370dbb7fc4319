#include "controller/cli/mcp/json_rpc.h"

#include <cmath>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "kernels/core/text/json.h"

namespace railgauge::cli::mcp {
namespace {

// An id as JSON; nothing where it is neither text nor whole number.
std::optional<std::string> id_of(const Json& value) {
  if (value.kind_case() == Json::kStringValue) return json_string(value.string_value());
  if (value.kind_case() != Json::kNumberValue) return std::nullopt;
  if (value.number_value() != std::floor(value.number_value())) return std::nullopt;
  return json_number(value.number_value());
}

}  // namespace

// The reader's own words quote the input, so they are not handed on.
Result<Json> read_json(std::string_view text) {
  Json value;
  const auto parsed = google::protobuf::util::JsonStringToMessage(std::string(text), &value);
  if (!parsed.ok()) return invalid("the line is no JSON text");
  return value;
}

const Json* field_of(const google::protobuf::Struct& object, const std::string& field) {
  const auto found = object.fields().find(field);
  return found == object.fields().end() ? nullptr : &found->second;
}

std::string text_of(const google::protobuf::Struct& object, const std::string& field) {
  const Json* value = field_of(object, field);
  return value != nullptr && value->kind_case() == Json::kStringValue ? value->string_value() : "";
}

// The order of checks: object, id, version, method, parameters. An answer names the id as soon as
// it is known.
tl::expected<Request, Refusal> request_of(const Json& message, bool& ignored) {
  ignored = false;
  const auto refuse = [](Fault fault, std::string why, std::string id = "null") {
    return tl::unexpected(Refusal{.fault = fault, .why = std::move(why), .id = std::move(id)});
  };
  if (message.kind_case() != Json::kStructValue)
    return refuse(Fault::kNoRequest, "a message is a JSON object");
  const auto& object = message.struct_value();
  Request request;
  if (const Json* id = field_of(object, "id"); id != nullptr) {
    request.id = id_of(*id);
    if (!request.id) return refuse(Fault::kNoRequest, "id: a text or a whole number is needed");
  }
  const std::string id = request.id.value_or("null");
  if (text_of(object, "jsonrpc") != "2.0")
    return refuse(Fault::kNoRequest, "jsonrpc: \"2.0\" is needed", id);
  ignored = field_of(object, "method") == nullptr &&
            (field_of(object, "result") != nullptr || field_of(object, "error") != nullptr);
  if (ignored) return request;
  request.method = text_of(object, "method");
  if (request.method.empty()) return refuse(Fault::kNoRequest, "method: a text is needed", id);
  if (const Json* parameters = field_of(object, "params"); parameters != nullptr) {
    if (parameters->kind_case() != Json::kStructValue)
      return refuse(Fault::kBadParameters, "params: an object is needed", id);
    request.parameters = parameters->struct_value();
  }
  return request;
}

std::string result_text(std::string_view id, std::string_view result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result);
}

std::string fault_text(const Refusal& refusal) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":{}}}}})",
                     refusal.id, static_cast<int>(refusal.fault), json_string(refusal.why));
}

}  // namespace railgauge::cli::mcp
