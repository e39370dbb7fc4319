// doctor
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/site/doctor.h"
#include "controller/cli/verbs/commands.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr int kProbeMilliseconds = 2'000;
constexpr std::size_t kMostAnswerBytes = 256;
constexpr std::uint32_t kDeliveryEvents = 200;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The port answers HTTP: its status line. A port with TLS answers something else, which counts.
Asked probe(const std::string& host, const std::string& port) {
  const std::string where = fmt::format("{}:{}", host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list); code != 0)
    return {.text = fmt::format("{}: {}", where, ::gai_strerror(code))};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(list, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    const Fd socket(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) continue;
    pollfd wait{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    const bool begins =
        ::connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0 || errno == EINPROGRESS;
    error = begins ? 0 : errno;
    if (!begins) continue;
    if (::poll(&wait, 1, kProbeMilliseconds) <= 0) {
      error = ETIMEDOUT;
      continue;
    }
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) continue;
    constexpr std::string_view kAsk = "GET /healthz HTTP/1.0\r\n\r\n";
    static_cast<void>(::send(socket.get(), kAsk.data(), kAsk.size(), MSG_NOSIGNAL));
    wait.events = POLLIN;
    std::string answer(kMostAnswerBytes, '\0');
    const bool has_some = ::poll(&wait, 1, kProbeMilliseconds) > 0;
    const ssize_t read = has_some ? ::recv(socket.get(), answer.data(), answer.size(), 0) : 0;
    answer.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
    if (!answer.starts_with("HTTP/"))
      return {.has_answer = true, .text = where + " takes connections (no plain HTTP)"};
    return {.has_answer = true,
            .text = fmt::format("{} answers: {}", where, answer.substr(0, answer.find('\r')))};
  }
  return {.text = fmt::format("{}: connect: {}", where, errno_words(error))};
}

// Where the controller's metrics are for this host; absent: nowhere.
std::optional<Asked> ask_metrics(const std::string& listen, const std::string& controller) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos || listen.substr(colon + 1) == "0") return std::nullopt;
  std::string host = listen.substr(0, colon);
  const bool is_here = controller.starts_with("unix:");
  const bool is_any = host.empty() || host == "0.0.0.0" || host == "[::]";
  const bool is_loopback = host == "localhost" || host == "[::1]" || host.starts_with("127.");
  if (is_loopback && !is_here) return std::nullopt;
  if (is_any) host = is_here ? "127.0.0.1" : controller.substr(0, controller.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return probe(host, listen.substr(colon + 1));
}

void read_user_certificate(const std::string& path, DoctorFacts& facts) {
  if (path.empty()) return;
  const auto pem = trust::read_pem("tls-cert", path);
  const auto certificate = pem ? trust::parse_certificate(*pem) : tl::unexpected(pem.error());
  if (certificate)
    facts.user_certificate_ends = certificate->until_unix;
  else
    facts.user_certificate_fault = certificate.error().message;
}

// A controller that does not answer is a finding here, not an error.
Result<DoctorFacts> gather_facts(Session& session) {
  DoctorFacts facts{.version = RAILGAUGE_VERSION, .address = session.address};
  const double begin = seconds_since_1970();
  auto told = session.channel_fault.empty()
                  ? call(session, rpc::kGetInstallation, InstallationRequest())
                  : fail(Code::kInvalidArgument, session.channel_fault);
  facts.now = seconds_since_1970();
  facts.answer_seconds = facts.now - begin;
  if (!told && told.error().code == Code::kCancelled) return tl::unexpected(told.error());
  read_user_certificate(session.tls_cert, facts);
  if (!told) {
    facts.trouble = told.error().message;
    facts.has_no_channel = !session.channel_fault.empty();
    return facts;
  }
  facts.installation = std::move(*told);
  facts.nodes = RG_TRY(call(session, rpc::kListNodes, ListNodesRequest()));
  facts.schedules = RG_TRY(call(session, rpc::kListSchedules, ListSchedulesRequest()));
  EventsRequest deliveries;
  deliveries.set_kinds("delivery");
  deliveries.set_limit(kDeliveryEvents);
  facts.deliveries = RG_TRY(call(session, rpc::kListEvents, deliveries));
  facts.metrics = ask_metrics(facts.installation->metrics_listen(), session.address);
  return facts;
}

Tone tone_of_check(const std::string& state) {
  if (state == "pass") return Tone::kGood;
  return state == "fail" ? Tone::kBad : Tone::kDoubtful;
}

}  // namespace

Result<int> show_doctor(Session& session, const Arguments&) {
  const DoctorFacts facts = RG_TRY(gather_facts(session));
  const DoctorReport report = examine(facts);
  const Output& output = session.output;
  if (print_document(output, report, "checks")) return exit_code_of(report, facts);
  const Rows rows = rows_of(report.checks(), [](const DoctorCheck& check) {
    return Row({check.id(), Cell(check.state(), tone_of_check(check.state())), check.observed()});
  });
  output.out << render_table("CHECK|STATE|OBSERVED", rows, output.colour);
  Rows remedies;
  for (const DoctorCheck& check : report.checks())
    if (!check.remedy().empty()) remedies.push_back({check.id(), check.remedy()});
  output.out << render_section("TO DO|HOW", remedies, output.colour);
  return exit_code_of(report, facts);
}

}  // namespace railgauge::cli
