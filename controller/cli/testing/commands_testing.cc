#include "controller/cli/testing/commands_testing.h"

#include <chrono>

#include "controller/cli/input/stubs.h"
#include "controller/cli/live/on_screen.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/completion.h"

namespace railgauge::cli {

void expect_golden(const std::string& name, const std::string& text) {
  expect_file("controller/cli/testdata/" + name, text);
}

struct Commands::Server {
  explicit Server(std::unique_ptr<grpc::Server> built)
      : server(std::move(built)), stubs(server->InProcessChannel({})) {}

  std::unique_ptr<grpc::Server> server;
  Stubs stubs;
};

void Commands::SetUp() {
  grpc::ServerBuilder builder;
  builder.RegisterService(&control_.service());
  builder.RegisterService(&archive_.service());
  builder.RegisterService(&judge_.service());
  server_ = std::make_shared<Server>(builder.BuildAndStart());
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
