// The HTTP ports of controller and agent: /metrics, /sd and /healthz from memory, or the pages of
// one function. Plain, or with TLS and basic authentication as exporters of Prometheus have them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::http {

class WebConfigFile;

// A request that was not taken, for its password or the size of its body. Texts are the peer's, but
// for `user`.
struct Refusal {
  std::string user{};     // "" for a name that is no user's
  std::string address{};  // as gRPC writes it: "ipv4:192.0.2.1:7", "ipv6:%5B2001:db8::1%5D:7"
  std::string path{};     // without its query
  // kUnauthenticated: wrong. kResourceExhausted: not checked, too many wait. kOutOfRange: the body.
  Error reason{};
  std::string method{};  // "GET"
};

// A request for a page of Pages::other. Texts are the peer's, but for `user` and `certificate`.
struct Request {
  std::string method{};  // "GET"
  std::string path{};    // decoded, without the query
  std::multimap<std::string, std::string> query{};
  std::map<std::string, std::string> headers{};  // by name in lower case; the first of several
  std::string user{};         // whose password was right; "" where the port asks for none
  std::string certificate{};  // PEM of the client's certificate, verified; "" for none
  std::string address{};      // as in Refusal
  std::string body{};         // of a POST, where Pages::most_body_bytes allows one
  // Whether the peer has hung up, so that nobody waits for the answer. For the thread of the
  // request, until it has answered. Empty: not known.
  std::function<bool()> is_gone{};
  // Whether the password still counts, for an answer that lasts. Empty: the port asks for none.
  std::function<bool()> is_known{};
};

// Its answer.
struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  // Not empty: in the place of `body`, its parts, until this returns nothing. "" is no part yet; it
  // waits for a second at most. The connection ends with the answer.
  std::function<std::optional<std::string>()> parts{};
};

// In the place of web_config.h's file, for a port of one purpose. The files of a port with TLS,
// PEM; read again when they change.
struct TlsFiles {
  std::string certificate{};
  std::string key{};        // the caller checks who can read it
  std::string client_ca{};  // authorities of clients' certificates; a client may have none
};

// A small server for Prometheus, for probes and for the console. A thread serves one connection;
// connections.h bounds their number, and every phase of one has a deadline, so that no peer keeps
// another one waiting. Thread safe; the destructor stops it.
class Server {
 public:
  // From the accept to the end of a request's headers, TLS included.
  static constexpr double kHeaderSeconds = 10;
  // Between two requests of a connection.
  static constexpr double kIdleSeconds = 5;
  // From the end of the headers to the end of the body.
  static constexpr double kBodySeconds = 5;
  // From the end of the headers to the end of the answer.
  static constexpr double kAnswerSeconds = 30;
  // A peer that does not take a part of Answer::parts within this time is cut.
  static constexpr double kPartSeconds = 10;
  // Requests of one connection.
  static constexpr int kMostRequests = 1'000;

  // Called from the threads of the server; all must be thread safe and, but for `other`, answer
  // from memory.
  struct Pages {
    std::function<std::string()> metrics;
    std::function<bool()> healthy;
    // One line that says why no call comes through, "" while they do; may be empty.
    std::function<std::string()> trouble{};
    // Lines for people below "ok" of /healthz: what works in part only. May be empty.
    std::function<std::string()> remarks{};
    // The targets that Prometheus reads from /sd, as JSON; "" while they are not known, so that it
    // keeps those that it has. Empty: there is no such page.
    std::function<std::string()> targets{};
    // Called for each password or body that is not taken, before the answer. May be empty.
    std::function<void(const Refusal&)> refused{};
    // Answers every path but /healthz, any method; /metrics is then one of these paths. It may wait
    // for less than kAnswerSeconds. May be empty.
    std::function<Answer(const Request&)> other{};
    // Bound of the body of a POST for `other`; a longer body, or one in pieces, is refused with
    // 413. Above 0 these wait for no answer to another method.
    std::size_t most_body_bytes = 0;
  };
  // Binds (port 0: any free port) and serves. `web_config` is the file of web_config.h; "" serves
  // plain HTTP to anybody. kAlreadyExists: the port is taken, or the address is not one of this
  // host. kInvalidArgument: the file's fault.
  static Result<std::unique_ptr<Server>> start(const std::string& host, int port, Pages pages,
                                               const std::string& web_config = "");
  static Result<std::unique_ptr<Server>> start(const std::string& host, int port, Pages pages,
                                               const TlsFiles& tls);
  ~Server();
  // Returns the bound port, also after a start with port 0.
  [[nodiscard]] int port() const;

 private:
  struct Impl;
  static Result<std::unique_ptr<Server>> begin(const std::string& host, int port, Pages pages,
                                               std::unique_ptr<WebConfigFile> config);
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace railgauge::http
