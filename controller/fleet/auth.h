// Who calls, and what they may do. A caller came through the unix socket (checked by its
// credentials when it connected), with a certificate whose OU is its role, or through --insecure
// TCP.
#pragma once

#include <sys/types.h>

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
  // kAny: unix socket and --insecure.
  Role role = Role::kNone;
  // User name, common name or address, for people.
  std::string who{};
  // The common name of the certificate; "" without one.
  std::string common_name{};
  std::string address{};
};

// --- unix sockets
// ----------------------------------------------------------------------------------
struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  // Supplementary ones of the user.
  std::vector<gid_t> groups{};
};
// root, the controller's own user, or a member of `group`. Pure.
bool may_connect(const Credentials& peer, uid_t own_uid, std::optional<gid_t> group);
// SO_PEERCRED of a connected unix socket, with the user's groups from the system's database.
Result<Credentials> credentials_of(int fd);
std::string user_name(uid_t uid);

// Which user is behind each descriptor that was handed to gRPC, which knows them as "fd:N" only.
// Thread safe.
class PeerBook {
 public:
  void set(int fd, std::string user);
  [[nodiscard]] Peer peer_of(const grpc::ServerContextBase& context) const;

 private:
  mutable std::mutex mutex_;
  // By descriptor: as many as the process may have open.
  std::map<int, std::string> users_;
};

// --- certificates
// ----------------------------------------------------------------------------------
struct Subject {
  std::vector<std::string> common_names{};
  // The values of OU, organizational unit.
  std::vector<std::string> units{};
};
// "CN=n1,OU=agent,O=Railgauge" (RFC 2253, with its escapes). Pure.
Subject parse_subject(std::string_view rfc2253);
// agent, operator or viewer; kNone when the subject has another OU, none or several. Pure.
Role role_of(const Subject& subject);

// --- rights: kPermissionDenied naming who, what they are and what is needed. Pure
// -------------------
Status may_control(const Peer& peer, bool read_only);
Status may_attach(const Peer& peer);
Status may_speak_for(const Peer& peer, const std::string& node_name);

}  // namespace railgauge::auth
