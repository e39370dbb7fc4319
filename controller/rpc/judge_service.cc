#include <utility>

#include <fmt/format.h>

#include "controller/api/judge.grpc.pb.h"
#include "controller/findings/finding_service.h"
#include "controller/gate/gate_service.h"
#include "controller/rpc/services.h"
#include "controller/rpc/unary.h"
#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/upgrade_judge.h"

namespace railgauge {
namespace {

using rpc::Access;
using rpc::Context;
using rpc::Unary;

constexpr std::uint32_t kUpgrades = 50;  // listed when the caller sets no limit

// A name that the caller got wrong is wrong use, not a missing part of the system.
template <class Value>
Result<Value> as_wrong_use(Result<Value> result) {
  if (!result && result.error().code == Code::kNotFound)
    return fail(Code::kInvalidArgument, result.error().message);
  return result;
}

class JudgeService final : public api::Judge::CallbackService {
 public:
  JudgeService(Control& control, store::Store& store, const auth::PeerBook& peers,
               fleet::WorkerPool& pool, LeafSource leaves)
      : store_(store),
        upgrades_(control, store),
        findings_(store, std::move(leaves)),
        peers_(peers),
        pool_(pool) {}

  Unary* PrepareUpgrade(Context* context, const api::PrepareRequest* request,
                        api::Upgrade* response) override {
    return write(context, response, [=, this](const auth::Peer& peer) {
      return upgrades_.prepare(*request, peer.who);
    });
  }
  Unary* GateUpgrade(Context* context, const api::GateRequest* request,
                     api::GateStep* response) override {
    return write(context, response,
                 [=, this](const auth::Peer& peer) { return upgrades_.gate(*request, peer.who); });
  }
  Unary* JudgeUpgrade(Context* context, const api::UpgradeRef* request,
                      api::Upgrade* response) override {
    return write(context, response, [=, this](const auth::Peer&) -> Result<api::Upgrade> {
      const double coverage = request->has_min_coverage() ? request->min_coverage() : 1;
      if (!(coverage > 0 && coverage <= 1))
        return fail(Code::kInvalidArgument,
                    fmt::format("min_coverage: {} is no share between 0 and 1", coverage));
      return as_wrong_use(
          judge_and_keep(store_, request->upgrade_id(), fleet::unix_seconds(), coverage));
    });
  }
  Unary* ListUpgrades(Context* context, const api::ListUpgradesRequest* request,
                      api::UpgradeList* response) override {
    return read(context, response, [=, this](const auth::Peer&) -> Result<api::UpgradeList> {
      api::UpgradeList list;
      list.set_schema_version(kSchemaVersion);
      const std::uint32_t limit = request->limit() == 0 ? kUpgrades : request->limit();
      for (const store::UpgradeRow& row : RG_TRY(store_.read(store::read_upgrades, limit)))
        *list.add_upgrades() = summary_of(row);
      return list;
    });
  }
  Unary* GetUpgrade(Context* context, const api::UpgradeRef* request,
                    api::Upgrade* response) override {
    return read(context, response, [=, this](const auth::Peer&) {
      return as_wrong_use(upgrade_report(store_, request->upgrade_id()));
    });
  }
  Unary* ListFindings(Context* context, const api::ListFindingsRequest* request,
                      api::FindingList* response) override {
    return read(context, response, [=, this](const auth::Peer&) {
      return findings_.list(*request, fleet::unix_seconds());
    });
  }
  Unary* GetFinding(Context* context, const api::FindingRef* request,
                    api::Finding* response) override {
    return read(context, response, [=, this](const auth::Peer&) {
      return findings_.get(request->finding_id(), fleet::unix_seconds());
    });
  }
  Unary* StepFinding(Context* context, const api::FindingStepRequest* request,
                     api::Finding* response) override {
    return write(context, response, [=, this](const auth::Peer& peer) {
      return findings_.step(*request, peer.who, fleet::unix_seconds());
    });
  }
  Unary* PinBaselines(Context* context, const api::PinRequest* request,
                      api::BaselineList* response) override {
    return write(context, response, [=, this](const auth::Peer& peer) {
      return findings_.pin(*request, peer.who, fleet::unix_seconds());
    });
  }
  Unary* ListBaselines(Context* context, const api::ListBaselinesRequest* request,
                       api::BaselineList* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return findings_.baselines(*request); });
  }

 private:
  template <class Response, class Work>
  Unary* read(Context* context, Response* response, Work work) {
    return rpc::unary(context, peers_, Access::kRead, pool_, response, std::move(work));
  }
  template <class Response, class Work>
  Unary* write(Context* context, Response* response, Work work) {
    return rpc::unary(context, peers_, Access::kWrite, pool_, response, std::move(work));
  }

  store::Store& store_;
  GateService upgrades_;
  FindingService findings_;
  const auth::PeerBook& peers_;
  fleet::WorkerPool& pool_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_judge_service(Control& control, store::Store& store,
                                                  const auth::PeerBook& peers,
                                                  fleet::WorkerPool& pool, LeafSource leaves) {
  return std::make_unique<JudgeService>(control, store, peers, pool, std::move(leaves));
}

}  // namespace railgauge
