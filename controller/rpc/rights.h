// THE list of calls: every RPC that the controller serves, with the callers that may make it. A
// call that is missing here does not compile where it is ours, and is for operators alone where it
// is a library's. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "controller/fleet/auth.h"
#include "kernels/core/base/result.h"

namespace railgauge::rpc {

enum class Access : std::uint8_t {
  kOpen,         // whoever is connected
  kAgent,        // agents
  kRead,         // viewers and operators
  kOperator,     // operators; it reads what names people, or the whole file
  kWrite,        // operators; a row of the audit trail comes first
  kUrgentWrite,  // operators; the row may come later: it has to work while nothing can be stored
  kAdmin,        // users of the unix socket
  kAdminWrite,   // likewise; a row of the audit trail comes first
  kController,   // other controllers of the site
};

struct Right {
  std::string_view service;
  std::string_view method;
  Access access;
};

inline constexpr std::string_view kAgentLink = "railgauge.api.AgentLink";
inline constexpr std::string_view kControl = "railgauge.api.Control";
inline constexpr std::string_view kArchive = "railgauge.api.Archive";
inline constexpr std::string_view kJudge = "railgauge.api.Judge";
inline constexpr std::string_view kConsole = "railgauge.api.Console";
inline constexpr std::string_view kEnrolment = "railgauge.api.Enrolment";
inline constexpr std::string_view kStandby = "railgauge.api.Standby";

// The unix socket and --insecure count as agent and operator.
inline constexpr std::array kRights{
    Right{kAgentLink, "Attach", Access::kAgent},
    Right{kControl, "ListNodes", Access::kRead},
    Right{kControl, "ListNodeHeads", Access::kRead},
    Right{kControl, "ListKernels", Access::kRead},
    Right{kControl, "ListSuites", Access::kRead},
    Right{kControl, "CheckSuite", Access::kRead},
    Right{kControl, "PlanRun", Access::kRead},
    Right{kControl, "StartRun", Access::kWrite},
    Right{kControl, "WatchRun", Access::kRead},
    Right{kControl, "CancelRun", Access::kUrgentWrite},
    Right{kControl, "ListRuns", Access::kRead},
    Right{kControl, "GetRun", Access::kRead},
    Right{kControl, "QueryResults", Access::kRead},
    Right{kControl, "GetVersion", Access::kRead},
    Right{kControl, "GetInstallation", Access::kRead},
    // Changes nothing on the nodes, but makes them work: not for those who may only read.
    Right{kControl, "RunPreflight", Access::kWrite},
    Right{kControl, "ListSchedules", Access::kRead},
    Right{kControl, "AddSchedule", Access::kWrite},
    Right{kControl, "PauseSchedule", Access::kWrite},
    Right{kControl, "ResumeSchedule", Access::kWrite},
    Right{kControl, "RemoveSchedule", Access::kWrite},
    Right{kControl, "RunSchedule", Access::kWrite},
    Right{kControl, "RenameNode", Access::kWrite},
    Right{kControl, "PauseNodes", Access::kWrite},
    Right{kControl, "ResumeNodes", Access::kWrite},
    Right{kArchive, "FindPoints", Access::kRead},
    Right{kArchive, "ExportPoints", Access::kRead},
    Right{kArchive, "ListSeries", Access::kRead},
    Right{kArchive, "GetHistory", Access::kRead},
    Right{kArchive, "CompareRuns", Access::kRead},
    Right{kArchive, "RunSql", Access::kRead},
    Right{kArchive, "GetTasks", Access::kRead},
    Right{kArchive, "GetBundlePart", Access::kRead},
    Right{kArchive, "GetSpace", Access::kRead},
    // Reads every page for minutes, and its answer is for those who can act on it.
    Right{kArchive, "CheckDatabase", Access::kOperator},
    Right{kArchive, "BackUp", Access::kWrite},
    Right{kArchive, "Prune", Access::kUrgentWrite},
    Right{kArchive, "GetMatrix", Access::kRead},
    Right{kArchive, "GetMatrixOverview", Access::kRead},
    Right{kArchive, "GetMatrixBlock", Access::kRead},
    Right{kArchive, "GetSuspects", Access::kRead},
    Right{kArchive, "ListEvents", Access::kRead},
    Right{kArchive, "GetTaskGroups", Access::kRead},
    Right{kArchive, "ListAudit", Access::kOperator},
    Right{kJudge, "PrepareUpgrade", Access::kWrite},
    Right{kJudge, "GateUpgrade", Access::kWrite},
    Right{kJudge, "JudgeUpgrade", Access::kWrite},
    Right{kJudge, "ListUpgrades", Access::kRead},
    Right{kJudge, "GetUpgrade", Access::kRead},
    Right{kJudge, "ListFindings", Access::kRead},
    Right{kJudge, "GetFinding", Access::kRead},
    Right{kJudge, "StepFinding", Access::kWrite},
    Right{kJudge, "MeasureFinding", Access::kWrite},
    Right{kJudge, "PinBaselines", Access::kWrite},
    Right{kJudge, "ListBaselines", Access::kRead},
    Right{kJudge, "GetCertificate", Access::kRead},
    // The session that it leads to has the rights of the caller.
    Right{kConsole, "OpenConsole", Access::kRead},
    // Whoever makes tokens makes agents: an operator may use the fabric, not say who is part of it.
    Right{kEnrolment, "CreateToken", Access::kAdminWrite},
    Right{kEnrolment, "ListTokens", Access::kAdmin},
    Right{kEnrolment, "RevokeToken", Access::kAdminWrite},
    // Whoever is connected may know whom to ask instead. A promise holds a takeover up.
    Right{kStandby, "GetRole", Access::kOpen},
    Right{kStandby, "Promise", Access::kController},
    // A probe needs no role. The contract is public.
    Right{"grpc.health.v1.Health", "Check", Access::kOpen},
    Right{"grpc.health.v1.Health", "Watch", Access::kOpen},
    Right{"grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo", Access::kOpen},
};

// Returns the row of a call; nullptr when there is none.
constexpr const Right* find_right(std::string_view service, std::string_view method) {
  for (const Right& right : kRights)
    if (right.service == service && right.method == method) return &right;
  return nullptr;
}
// Returns the row of a call of ours. Without a row the caller does not compile.
consteval const Right& right_of(std::string_view service, std::string_view method) {
  const Right* right = find_right(service, method);
  if (right == nullptr) throw "the call has no row in kRights";
  return *right;
}

constexpr bool is_write(Access access) {
  return access == Access::kWrite || access == Access::kUrgentWrite ||
         access == Access::kAdminWrite;
}

// kPermissionDenied: the caller's role has no such access.
inline Status check_access(const auth::Peer& peer, Access access) {
  if (access == Access::kOpen && peer.refusal.empty()) return {};
  if (access == Access::kAgent) return auth::may_attach(peer);
  if (access == Access::kController) return auth::may_stand_by(peer);
  if (access == Access::kAdmin || access == Access::kAdminWrite) return auth::may_administer(peer);
  return auth::may_control(peer, access == Access::kRead);
}

}  // namespace railgauge::rpc
