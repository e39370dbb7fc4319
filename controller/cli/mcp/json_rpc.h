// Messages of JSON-RPC 2.0 as texts. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <google/protobuf/struct.pb.h>

#include "kernels/core/base/result.h"

namespace railgauge::cli::mcp {

// The numbers that JSON-RPC gives to faults.
enum class Fault : int {
  kNoJson = -32700,
  kNoRequest = -32600,
  kUnknownMethod = -32601,
  kBadParameters = -32602,
};

// A value without protobuf's map in the way. Numbers are doubles, as JavaScript has them.
using Json = google::protobuf::Value;

// One call. Without an id it is a notification, which gets no answer.
struct Request {
  std::optional<std::string> id{};  // as JSON: "7", "\"a\""
  std::string method{};
  google::protobuf::Struct parameters{};
};

// A refused message: the fault, and why in one line.
struct Refusal {
  Fault fault = Fault::kNoRequest;
  std::string why{};
  std::string id = "null";  // as JSON
};

// Reads one JSON text. kInvalidArgument: it is none, or nests deeper than the reader allows.
Result<Json> read_json(std::string_view text);

// Takes a message as a request. A message that answers a request has no method; nothing here asks,
// so that `ignored` is true of it and nothing is answered.
tl::expected<Request, Refusal> request_of(const Json& message, bool& ignored);

// The answers, in one line without its end. `result` is JSON.
std::string result_text(std::string_view id, std::string_view result);
std::string fault_text(const Refusal& refusal);

// Returns the text of a field; "" where it is absent or no text.
std::string text_of(const google::protobuf::Struct& object, const std::string& field);
// Returns the field, which lives as long as the object; nullptr: there is none.
const Json* field_of(const google::protobuf::Struct& object, const std::string& field);

}  // namespace railgauge::cli::mcp
