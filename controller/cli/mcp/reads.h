// The calls that a tool may make. Each only reads, which a test compares with the rights of the
// services; a call outside of the list is refused before it is sent.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli::mcp {

// Service and function of every call that a tool makes. A call is added here only where the rights
// give it to viewers.
// clang-format off
#define RAILGAUGE_MCP_READS(READ) \
  READ(Control, GetInstallation) \
  READ(Control, ListNodes) \
  READ(Control, ListRuns) \
  READ(Control, ListSchedules) \
  READ(Archive, CompareRuns) \
  READ(Archive, GetHistory) \
  READ(Archive, GetSuspects) \
  READ(Archive, GetTaskGroups) \
  READ(Archive, GetTasks) \
  READ(Archive, ListEvents) \
  READ(Archive, ListSeries) \
  READ(Judge, GetFinding) \
  READ(Judge, GetUpgrade) \
  READ(Judge, ListFindings) \
  READ(Judge, ListUpgrades)
// clang-format on

struct ReadCall {
  std::string_view service;  // "railgauge.api.Judge"
  std::string_view method;   // "GetFinding"
  const void* rpc;           // its row in `rpc`
};
#define RAILGAUGE_MCP_ROW(service, method) \
  ReadCall{"railgauge.api." #service, #method, &rpc::k##method},
inline const std::array kReadCalls{RAILGAUGE_MCP_READS(RAILGAUGE_MCP_ROW)};
#undef RAILGAUGE_MCP_ROW

// All that a tool gets of a session. Not thread safe.
class Reads {
 public:
  static constexpr double kSeconds = 60;  // of one call, where the session's deadline is shorter

  explicit Reads(Session& session) : session_(session) {}

  // Errors: call()'s; kPermissionDenied for a call that kReadCalls lacks.
  template <class Request, class Answer>
  Result<Answer> ask(const Rpc<Request, Answer>& rpc, const Request& request) {
    if (!std::ranges::any_of(kReadCalls, [&](const ReadCall& read) { return read.rpc == &rpc; }))
      return fail(Code::kPermissionDenied, "tools of assistants read, and this call may change");
    return call(session_, rpc, request, kSeconds);
  }

  // The session's output, whose mark says whether the controller's data is synthetic.
  [[nodiscard]] const Output& output() const { return session_.output; }

 private:
  Session& session_;
};

}  // namespace railgauge::cli::mcp
