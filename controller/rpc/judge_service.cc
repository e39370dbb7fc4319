#include "controller/rpc/judge_service.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/upgrade_judge.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kUpgrades = 50;

grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

// A name that the caller got wrong is wrong use, not a missing part of the system.
template <class Value>
Result<Value> as_wrong_use(Result<Value> result) {
  if (!result && result.error().code == Code::kNotFound)
    return fail(Code::kInvalidArgument, result.error().message);
  return result;
}

}  // namespace

template <class Response>
JudgeService::Unary* JudgeService::answer(Context* context, Access access, Response* response,
                                          std::function<Result<Response>(const auth::Peer&)> work) {
  Unary* reactor = context->DefaultReactor();
  const auth::Peer peer = peers_.peer_of(*context);
  if (const Status allowed = auth::may_control(peer, access == Access::kRead); !allowed) {
    spdlog::warn("call refused: {}", allowed.error().message);
    reactor->Finish(to_grpc(allowed.error()));
    return reactor;
  }
  const bool taken = pool_.submit([reactor, response, peer, moved = std::move(work)] {
    Result<Response> answer = moved(peer);
    if (!answer) return reactor->Finish(to_grpc(answer.error()));
    *response = std::move(*answer);
    reactor->Finish(grpc::Status::OK);
  });
  if (!taken)
    reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the controller is busy; try again"});
  return reactor;
}

JudgeService::Unary* JudgeService::PrepareUpgrade(Context* context,
                                                  const api::PrepareRequest* request,
                                                  api::Upgrade* response) {
  return answer<api::Upgrade>(context, Access::kWrite, response, [=, this](const auth::Peer& peer) {
    return upgrades_.prepare(*request, peer.who);
  });
}

JudgeService::Unary* JudgeService::GateUpgrade(Context* context, const api::GateRequest* request,
                                               api::GateStep* response) {
  return answer<api::GateStep>(
      context, Access::kWrite, response,
      [=, this](const auth::Peer& peer) { return upgrades_.gate(*request, peer.who); });
}

JudgeService::Unary* JudgeService::JudgeUpgrade(Context* context, const api::UpgradeRef* request,
                                                api::Upgrade* response) {
  return answer<api::Upgrade>(
      context, Access::kWrite, response, [=, this](const auth::Peer&) -> Result<api::Upgrade> {
        const double coverage = request->has_min_coverage() ? request->min_coverage() : 1;
        if (!(coverage > 0 && coverage <= 1))
          return fail(Code::kInvalidArgument,
                      fmt::format("min_coverage: {} is no share between 0 and 1", coverage));
        return as_wrong_use(
            judge_and_keep(store_, request->upgrade_id(), fleet::unix_seconds(), coverage));
      });
}

JudgeService::Unary* JudgeService::ListUpgrades(Context* context,
                                                const api::ListUpgradesRequest* request,
                                                api::UpgradeList* response) {
  return answer<api::UpgradeList>(
      context, Access::kRead, response, [=, this](const auth::Peer&) -> Result<api::UpgradeList> {
        api::UpgradeList list;
        list.set_schema_version(kSchemaVersion);
        const std::uint32_t limit = request->limit() == 0 ? kUpgrades : request->limit();
        for (const store::UpgradeRow& row : RG_TRY(store_.read(store::read_upgrades, limit)))
          *list.add_upgrades() = summary_of(row);
        return list;
      });
}

JudgeService::Unary* JudgeService::GetUpgrade(Context* context, const api::UpgradeRef* request,
                                              api::Upgrade* response) {
  return answer<api::Upgrade>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return as_wrong_use(upgrade_report(store_, request->upgrade_id()));
  });
}

JudgeService::Unary* JudgeService::ListFindings(Context* context,
                                                const api::ListFindingsRequest* request,
                                                api::FindingList* response) {
  return answer<api::FindingList>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return findings_.list(*request, fleet::unix_seconds());
  });
}

JudgeService::Unary* JudgeService::GetFinding(Context* context, const api::FindingRef* request,
                                              api::Finding* response) {
  return answer<api::Finding>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return findings_.get(request->finding_id(), fleet::unix_seconds());
  });
}

JudgeService::Unary* JudgeService::StepFinding(Context* context,
                                               const api::FindingStepRequest* request,
                                               api::Finding* response) {
  return answer<api::Finding>(context, Access::kWrite, response, [=, this](const auth::Peer& peer) {
    return findings_.step(*request, peer.who, fleet::unix_seconds());
  });
}

JudgeService::Unary* JudgeService::PinBaselines(Context* context, const api::PinRequest* request,
                                                api::BaselineList* response) {
  return answer<api::BaselineList>(
      context, Access::kWrite, response, [=, this](const auth::Peer& peer) {
        return findings_.pin(*request, peer.who, fleet::unix_seconds());
      });
}

JudgeService::Unary* JudgeService::ListBaselines(Context* context,
                                                 const api::ListBaselinesRequest* request,
                                                 api::BaselineList* response) {
  return answer<api::BaselineList>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return findings_.baselines(*request);
  });
}

}  // namespace railgauge
