#include "controller/cli/testing/commands_testing.h"

#include <chrono>

#include <grpcpp/support/server_interceptor.h>

#include "controller/api/archive_mark.h"
#include "controller/api/synthetic_mark.h"
#include "controller/cli/input/stubs.h"
#include "controller/cli/live/on_screen.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/completion.h"

namespace railgauge::cli {

void expect_golden(const std::string& name, const std::string& text) {
  expect_file("controller/cli/testdata/" + name, text);
}

namespace {

// Tokens with fixed answers: one that is good still, one that was revoked.
class FakeEnrolment final : public api::Enrolment::Service {
  static api::TokenInfo token(const std::string& id, const std::string& state) {
    api::TokenInfo token;
    token.set_schema_version(1);
    token.set_token_id(id);
    token.set_state(state);
    token.set_node_set(state == "valid" ? "gpu[001-064]" : "");
    token.set_uses(state == "valid" ? 17 : 0);
    token.set_most_uses(state == "valid" ? 64 : 1);
    token.set_created_at("2026-11-20T12:00:00Z");
    token.set_created_by("root");
    token.set_expires_at("2026-11-20T13:00:00Z");
    if (state != "revoked") return token;
    token.set_revoked_at("2026-11-20T12:30:00Z");
    token.set_revoked_by("ann");
    return token;
  }
  grpc::Status CreateToken(grpc::ServerContext*, const api::CreateTokenRequest* request,
                           api::NewToken* made) override {
    made->set_schema_version(1);
    made->set_token("rgt_1a2b3c4d_" + std::string(32, '0') + "_" + std::string(64, 'f'));
    *made->mutable_info() = token("1a2b3c4d", "valid");
    made->mutable_info()->set_uses(0);
    made->mutable_info()->set_node_set(request->node_set());
    made->mutable_info()->set_most_uses(request->has_uses() ? request->uses() : 1);
    made->set_enroll_listen("0.0.0.0:7444");
    return grpc::Status::OK;
  }
  grpc::Status ListTokens(grpc::ServerContext*, const api::ListTokensRequest*,
                          api::TokenList* list) override {
    list->set_schema_version(1);
    *list->add_tokens() = token("1a2b3c4d", "valid");
    *list->add_tokens() = token("5e6f7a8b", "revoked");
    return grpc::Status::OK;
  }
  grpc::Status RevokeToken(grpc::ServerContext*, const api::TokenRef* request,
                           api::TokenInfo* revoked) override {
    if (request->token_id() != "5e6f7a8b")
      return {grpc::StatusCode::NOT_FOUND, "token " + request->token_id() + ": there is none"};
    *revoked = token("5e6f7a8b", "revoked");
    return grpc::Status::OK;
  }
};

class FakeConsole final : public api::Console::Service {
  grpc::Status OpenConsole(grpc::ServerContext*, const api::OpenConsoleRequest*,
                           api::ConsoleTicket* ticket) override {
    ticket->set_schema_version(1);
    ticket->set_url("http://127.0.0.1:7480/login?ticket=0123");
    ticket->set_expires_at("2026-11-20T12:01:00Z");
    return grpc::Status::OK;
  }
};

// Marks answers as rpc::Gate does, and as its frame of unary calls.
class MarkAnswers final : public grpc::experimental::Interceptor {
 public:
  MarkAnswers(bool is_synthetic, bool is_behind)
      : is_synthetic_(is_synthetic), is_behind_(is_behind) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (is_synthetic_ && methods->QueryInterceptionHookPoint(Point::PRE_SEND_INITIAL_METADATA))
      methods->GetSendInitialMetadata()->emplace(api::kDataKindHeader, api::kSyntheticData);
    if (is_behind_ && methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS))
      methods->GetSendTrailingMetadata()->emplace(api::kArchiveHeader, api::kArchiveBehind);
    methods->Proceed();
  }

 private:
  const bool is_synthetic_;
  const bool is_behind_;
};

class MarkCalls final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  MarkCalls(const std::atomic<bool>& is_synthetic, const std::atomic<bool>& is_behind)
      : is_synthetic_(is_synthetic), is_behind_(is_behind) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo*) override {
    return is_synthetic_ || is_behind_ ? new MarkAnswers(is_synthetic_, is_behind_) : nullptr;
  }

 private:
  const std::atomic<bool>& is_synthetic_;
  const std::atomic<bool>& is_behind_;
};

}  // namespace

struct Commands::Server {
  FakeEnrolment enrolment;
  FakeConsole console;
  std::unique_ptr<grpc::Server> server;
  Stubs stubs;

  explicit Server(grpc::ServerBuilder& builder)
      : server(builder.RegisterService(&enrolment).RegisterService(&console).BuildAndStart()),
        stubs(server->InProcessChannel({})) {}
};

void Commands::SetUp() {
  grpc::ServerBuilder builder;
  builder.RegisterService(&control_.service());
  builder.RegisterService(&archive_.service());
  builder.RegisterService(&judge_.service());
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> marks;
  marks.push_back(std::make_unique<MarkCalls>(is_synthetic_, is_archive_behind_));
  builder.experimental().SetInterceptorCreators(std::move(marks));
  server_ = std::make_shared<Server>(builder);
}

const Stubs& Commands::stubs() const { return server_->stubs; }

void Commands::TearDown() { server_->server->Shutdown(std::chrono::system_clock::now()); }

int Commands::run(const std::vector<std::string>& words, Format format, bool colour) {
  std::ostringstream out;
  std::ostringstream err;
  Output output{.out = out, .err = err, .format = format, .units = units_, .colour = colour};
  const auto arguments = parse_arguments(grammar(), words);
  if (!arguments) {
    const int refused = report_error(output, arguments.error());
    out_ = out.str();
    err_ = err.str();
    return refused;
  }
  output.is_full = arguments->has("full");
  output.is_quiet = arguments->has("quiet");
  show_whole_tables(output.is_full);
  Session session{.stubs = server_->stubs,
                  .output = output,
                  .interrupts = interrupts_,
                  .address = "unix:/test",
                  .connected = [this] { return connected_; },
                  .again = "railgauge --controller unix:/test",
                  .linger_seconds = linger_seconds_,
                  .cancel_seconds = cancel_seconds_,
                  .reconnect_seconds = reconnect_seconds_};
  const auto code = run_on_screen(session, *arguments);
  const int exit_code =
      code ? *code : report_error(output, with_closest_name(session, *arguments, code.error()));
  out_ = out.str();
  err_ = err.str();
  return exit_code;
}

}  // namespace railgauge::cli
