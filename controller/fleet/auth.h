// Callers and their rights. A caller comes through the unix socket, which checks its credentials at
// the connection, with a certificate whose OU is its role, or through --insecure TCP.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace grpc {
class ServerContextBase;
}

namespace railgauge::auth {

enum class Role { kNone, kAgent, kOperator, kViewer, kAny };

struct Peer {
  Role role = Role::kNone;    // kAny: unix socket and --insecure
  std::string who{};          // user name, common name or address, for people
  std::string common_name{};  // of the certificate; "" without one
  std::string address{};
};

// --- unix sockets ------------------------------------------------------------------------------
struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};  // supplementary ones of the user
};
// Reports whether the peer is root, the controller's own user, or a member of `group`. Pure.
bool may_connect(const Credentials& peer, uid_t own_uid, std::optional<gid_t> group);
// Reads SO_PEERCRED of a connected unix socket, and the user's groups from the system's database.
Result<Credentials> credentials_of(int fd);
std::string user_name(uid_t uid);

// The user of each descriptor that was passed to gRPC, which knows descriptors as "fd:N" only.
// Thread safe.
class PeerBook {
 public:
  void set(int fd, std::string user);
  // Calls `note` with the peer of every call over TCP. Set it before the server starts; it is
  // called from the server's threads.
  void on_call(std::function<void(const Peer&)> note) { on_call_ = std::move(note); }
  [[nodiscard]] Peer peer_of(const grpc::ServerContextBase& context) const;

 private:
  [[nodiscard]] Peer caller_of(const grpc::ServerContextBase& context) const;

  std::function<void(const Peer&)> on_call_;
  mutable std::mutex mutex_;
  std::map<int, std::string> users_;  // by descriptor: as many as the process may have open
};

// --- certificates ------------------------------------------------------------------------------
struct Subject {
  std::vector<std::string> common_names{};
  std::vector<std::string> units{};  // OU
};
// Parses "CN=n1,OU=agent,O=Railgauge" (RFC 2253, with its escapes). Pure.
Subject parse_subject(std::string_view rfc2253);
// Returns agent, operator or viewer; kNone when the subject has another OU, none or several. Pure.
Role role_of(const Subject& subject);

// --- rights: kPermissionDenied naming who, what they are and what is needed. Pure --------------
Status may_control(const Peer& peer, bool read_only);
Status may_attach(const Peer& peer);
Status may_speak_for(const Peer& peer, const std::string& node_name);

}  // namespace railgauge::auth
