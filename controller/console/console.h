// The console's port: who a request is from, its pages, and the interface below /api/v1: what is
// read, what is followed while it changes, and what is done.
// deploy/docs/guide/console.md is for its users. Thread safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controller/api/console.pb.h"
#include "controller/console/actions.h"
#include "controller/console/page_files.h"
#include "controller/console/reader.h"
#include "controller/console/run_feed.h"
#include "controller/console/sessions.h"
#include "controller/http/http_server.h"
#include "kernels/core/base/result.h"

namespace railgauge::console {

class Console {
 public:
  // Bound of the body of an action.
  static constexpr std::size_t kMostBodyBytes = 8'192;
  // A page that follows a run comes again after so long, so that it is asked again who it is.
  static constexpr double kFollowSeconds = 600;

  struct Options {
    Reader::Connect connect{};                // to the services, as a peer that may only read
    std::function<std::uint64_t()> writes{};  // of the store so far; may be empty
    std::string folder{};                     // of the built pages; "": there are none
    std::string version{};
    // The mark of all data, api::data_kind_of(): each answer has it. May be empty.
    std::function<std::string_view()> data_kind{};
    // The age in seconds of the oldest change that the archive lacks; absent: there is no archive.
    // May be empty.
    std::function<std::optional<double>()> archive_lag{};
    bool is_local = true;  // the port is on loopback, so that other hosts' names are refused
    bool has_tls = false;
    std::function<double()> now_unix{};
    // Whether the user of a password may act. Empty: none may.
    std::function<bool(const std::string& user)> may_act{};
    // The holder of a verified certificate; kPermissionDenied: its role may not read.
    std::function<Result<Visitor>(const http::Request& request)> holder{};
    // Whether the certificate that opened a session was revoked since. May be empty.
    std::function<bool(const Visitor& visitor)> is_revoked{};
    // Whether a user of this host may still use the controller's socket: kPermissionDenied when
    // not, kUnavailable when nobody knows. May be empty.
    std::function<Status(const std::string& user)> check_user{};
    // Makes the visitor known to the services, for one call: the name that the call says.
    std::function<std::string(const Visitor& visitor, const std::string& address)> introduce{};
    // Whether the services have seen the call of that name. One that they have not is refused from
    // now on.
    std::function<bool(const std::string& name)> has_begun{};
    // Whether the services' table of rights lets the visitor make the call.
    std::function<bool(const Visitor& visitor, const Action& action)> may{};
    // A ticket was exchanged for a session, from this address. May be empty.
    std::function<void(const Visitor& visitor, const std::string& address)> begun{};
    // Keeps an action that was refused before a service saw it. Null: nobody is known, or a page of
    // another origin sent it, which is no act of the visitor whom the browser named.
    std::function<void(const Visitor* visitor, const std::string& address, const Action& action,
                       const std::string& subject, const Error& reason)>
        refused{};
    std::string watcher{};  // by this name the services know the watches of runs, which may read
  };

  explicit Console(Options options);

  // Answers one request. Waits for the services, for Reader's times at most.
  http::Answer answer(const http::Request& request);
  // A URL below `origin` ("http://127.0.0.1:7480") that lets `visitor` in once. kInternal: the
  // system has no random bytes.
  Result<api::ConsoleTicket> ticket_for(Visitor visitor, const std::string& origin);
  // Ends what waits for the services; the port may then be closed at once.
  void stop() {
    feed_.stop();
    reader_.stop();
    doer_.stop();
  }
  // Whether the pages are there.
  [[nodiscard]] bool has_pages() const { return files_.contains("/index.html"); }

 private:
  // The visitor and the end of the session; kUnauthenticated: nobody is known.
  struct Guest {
    Visitor visitor{};
    std::optional<double> ends_unix{};
    std::string token{};   // that actions need; "": a password that may only read
    std::string person{};  // whose bounds count
  };
  Result<Guest> guest_of(const http::Request& request);
  // A session has no more than the certificate that opened it, or the user.
  [[nodiscard]] Status check_certificate(const Visitor& visitor) const;
  [[nodiscard]] Status check_member(const Visitor& visitor) const;
  [[nodiscard]] bool is_still_here(const http::Request& request, const Visitor& visitor);
  Result<Guest> guest_by_certificate(const http::Request& request);
  Guest guest_by_password(const std::string& user);
  Status check_origin(const http::Request& request) const;
  [[nodiscard]] http::Answer describe_interface(const http::Request& request) const;
  http::Answer log_in(const http::Request& request);
  http::Answer log_out(const http::Request& request);
  http::Answer forget(const http::Request& request);
  http::Answer answer_guest(const http::Request& request, const Guest& guest);
  http::Answer answer_api(const http::Request& request, const Guest& guest);
  Result<std::string> read(const http::Request& request, const Guest& guest);
  // The token of the guest's actions, and which of them the guest may make.
  [[nodiscard]] std::string list_actions(const Guest& guest) const;
  // The JSON object, with the mark of synthetic or unknown data.
  [[nodiscard]] std::string marked(std::string text) const;
  http::Answer follow(const http::Request& request, const Guest& guest);
  http::Answer act(const http::Request& request, const Asked& asked);
  [[nodiscard]] Status check_page(const http::Request& request) const;
  http::Answer answer_visitor(const http::Request& request);
  [[nodiscard]] http::Answer page(const http::Request& request) const;

  const Options options_;
  const std::string assets_;  // the folder of scripts and styles; another one after each start
  const PageFiles files_;
  Sessions sessions_;
  Reader reader_;
  Reader doer_;  // has places of its own: a cancel waits for no reader
  RunFeed feed_;
};

}  // namespace railgauge::console
