// The console's port: who a request is from, its pages, and the read-only interface below /api/v1.
// deploy/docs/guide/console.md is for its users. Thread safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controller/api/console.pb.h"
#include "controller/console/page_files.h"
#include "controller/console/reader.h"
#include "controller/console/sessions.h"
#include "controller/http/http_server.h"
#include "kernels/core/base/result.h"

namespace railgauge::console {

class Console {
 public:
  struct Options {
    Reader::Connect connect{};  // to the services, as a peer that may only read
    std::string folder{};       // of the built pages; "": there are none
    std::string version{};
    // Whether all data is of a modelled site: each answer is marked then. May be empty.
    std::function<bool()> is_synthetic{};
    bool is_local = true;  // the port is on loopback, so that other hosts' names are refused
    bool has_tls = false;  // cookies are for TLS only
    std::function<double()> now_unix{};
    // The holder of a verified certificate; kPermissionDenied: its role may not read.
    std::function<Result<Visitor>(const http::Request& request)> holder{};
    // Whether the certificate that opened a session was revoked since. May be empty.
    std::function<bool(const Visitor& visitor)> is_revoked{};
  };

  explicit Console(Options options);

  // Answers one request. Waits for the services, for Reader's times at most.
  http::Answer answer(const http::Request& request);
  // A URL below `origin` ("http://127.0.0.1:7480") that lets `visitor` in once. kInternal: the
  // system has no random bytes.
  Result<api::ConsoleTicket> ticket_for(Visitor visitor, const std::string& origin);
  // Ends what waits for the services; the port may then be closed at once.
  void stop() { reader_.stop(); }
  // Whether the pages are there.
  [[nodiscard]] bool has_pages() const { return files_.contains("/index.html"); }

 private:
  // The visitor and the end of the session; kUnauthenticated: nobody is known.
  struct Guest {
    Visitor visitor{};
    std::optional<double> ends_unix{};
  };
  Result<Guest> guest_of(const http::Request& request);
  // A session has no more than the certificate that opened it.
  [[nodiscard]] Status check_certificate(const Visitor& visitor) const;
  Status check_origin(const http::Request& request) const;
  http::Answer log_in(const http::Request& request);
  http::Answer log_out(const http::Request& request);
  http::Answer answer_guest(const http::Request& request, const Guest& guest);
  http::Answer answer_api(const http::Request& request, const Guest& guest);
  Result<std::string> read(const http::Request& request);
  [[nodiscard]] http::Answer page(const std::string& path) const;

  const Options options_;
  const PageFiles files_;
  Sessions sessions_;
  Reader reader_;
};

}  // namespace railgauge::console
