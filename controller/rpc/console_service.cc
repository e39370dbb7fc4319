#include <utility>

#include "controller/api/console.grpc.pb.h"
#include "controller/rpc/services.h"
#include "controller/rpc/unary.h"

namespace railgauge {
namespace {

class ConsoleService final : public api::Console::CallbackService {
 public:
  ConsoleService(MakeTicket make_ticket, rpc::Gate& gate, fleet::WorkerPool& pool)
      : make_ticket_(std::move(make_ticket)), gate_(gate), pool_(pool) {}

  RAILGAUGE_UNARY(OpenConsole, pool_, api::OpenConsoleRequest, api::ConsoleTicket,
                  make_ticket_(peer, *request))

 private:
  static constexpr std::string_view kService = rpc::kConsole;

  const MakeTicket make_ticket_;
  rpc::Gate& gate_;
  fleet::WorkerPool& pool_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_console_service(MakeTicket make_ticket, rpc::Gate& gate,
                                                    fleet::WorkerPool& pool) {
  return std::make_unique<ConsoleService>(std::move(make_ticket), gate, pool);
}

}  // namespace railgauge
