/** The address of a client that connects through trusted proxies: `Forwarded` (RFC 7239), and the
 * de-facto standard `X-Forwarded-For`. @module */
import ipaddr from "ipaddr.js";

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
type AddressRange = readonly [address: IpAddress, prefixLength: number];

/** The name of a peer without an address in `server-trusted-proxies`: a Unix socket. */
const unixPeer = "unix";

/** Peers whose header fields name the client. */
export interface TrustedProxies {
  readonly ranges: readonly AddressRange[];
  /** Whether peers without an address are trusted. */
  readonly trustsUnix: boolean;
}

/** Returns whether a text is an address, a CIDR range such as `10.0.0.0/8`, or `unix`. */
export function isTrustedProxy(text: string): boolean {
  return text === unixPeer || rangeOf(text) !== null;
}

/** Reads the items of `server-trusted-proxies`, which {@linkcode isTrustedProxy} has accepted. */
export function readTrustedProxies(items: readonly string[]): TrustedProxies {
  return {
    ranges: items.map(rangeOf).filter((range) => range !== null),
    trustsUnix: items.includes(unixPeer),
  };
}

function rangeOf(text: string): AddressRange | null {
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)) {
    const [address, length] = ipaddr.parseCIDR(text);
    return [address, length];
  }
  const address = addressOf(text);
  return address === null ? null : [address, address.kind() === "ipv4" ? 32 : 128];
}

/** Maximum length of an address as text, including an IPv6 zone. */
const maxAddressLength = 64;

/** Returns an address; null for any other text. `::ffff:192.0.2.1` is the IPv4 address in it. */
function addressOf(text: string): IpAddress | null {
  if (text.length > maxAddressLength) return null;
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(":") || !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/**
 * Returns the client's address. A peer that is not trusted is the client. For a trusted peer, it is
 * the rightmost address that is not trusted in `Forwarded`, or else in `X-Forwarded-For`. An entry
 * that is not an address ends the search: the last proxy before it is the client.
 *
 * Most proxies write one of the two fields and pass the other one on. If both are present and name
 * different clients, one of them may be forged: the result is the peer.
 */
export function clientAddress(
  peer: string | null,
  headers: Readonly<Record<string, string>>,
  proxies: TrustedProxies,
): string | null {
  if (!isTrustedPeer(peer, proxies)) return peer;
  const { forwarded, "x-forwarded-for": forwardedForList } = headers;
  const clients = [
    ...(forwarded === undefined ? [] : [forwardedFor(forwarded)]),
    ...(forwardedForList === undefined ? [] : [listed(forwardedForList)]),
  ].map((entries) => rightmostUntrusted(peer, entries, proxies));
  const [first = peer, second = first] = clients;
  return first === second ? first : peer;
}

/** Maximum number of entries that are read from a field, starting at its end. */
const maxHops = 32;

function rightmostUntrusted(
  peer: string | null,
  entries: readonly string[],
  proxies: TrustedProxies,
): string | null {
  let client = peer;
  for (const entry of entries.slice(-maxHops).reverse()) {
    const address = addressOf(withoutPort(entry));
    if (address === null) return client;
    client = address.toString();
    if (!isTrustedPeer(client, proxies)) return client;
  }
  return client;
}

/** Returns whether the header fields of a peer are trusted. */
export function isTrustedPeer(
  peer: string | null,
  { ranges, trustsUnix }: TrustedProxies,
): boolean {
  if (peer === null) return trustsUnix;
  if (ranges.length === 0) return false;
  const address = addressOf(peer.replace(/%.*$/, ""));
  if (address === null) return false;
  return ranges.some(([range, length]) =>
    range.kind() === address.kind() && address.match(range, length)
  );
}

function listed(value: string): string[] {
  return value.split(",").map((entry) => entry.trim()).filter((entry) => entry !== "");
}

/**
 * Grammar of `Forwarded` (RFC 7239) that also accepts unquoted addresses with ports. It matches in
 * linear time. An unclosed quote ends with its element, so it cannot hide elements that a proxy
 * appends.
 *
 * `Forwarded = *( "," / ";" / OWS / ( token "=" ( token / quoted-string ) ) )`, where each pair
 * precedes a separator or the end.
 */
const forwardedField =
  /^(?:[,; \t]|[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~:[\]-]+|"(?:[^"\\]|\\.)*")(?=[ \t]*(?:[,;]|$)))*$/s;

const forwardedPart = /,|([\w!#$%&'*+.^`|~-]+)=([^",; \t]+|"(?:[^"\\]|\\.)*")/gs;

/** Returns `for` of each element of `Forwarded`; an empty text if an element has no or several `for`. */
function forwardedFor(value: string): string[] {
  if (!forwardedField.test(value)) return [];
  const elements: string[][] = [[]];
  for (const [part, name, text] of value.matchAll(forwardedPart)) {
    if (part === ",") elements.push([]);
    else if (name!.toLowerCase() === "for") elements.at(-1)!.push(unquoted(text!));
  }
  return elements.map((values) => values.length === 1 ? values[0]! : "");
}

function unquoted(value: string): string {
  const text = /^"(.*)"$/s.exec(value)?.[1];
  return text === undefined ? value : text.replace(/\\(.)/gs, "$1");
}

/** Removes the port: `192.0.2.1:80`, `[2001:db8::1]:80`, `[2001:db8::1]`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::[0-9]+)?$/.exec(entry)?.[1];
  if (bracketed !== undefined) return bracketed;
  return entry.replace(/^([0-9.]+):[0-9]+$/, "$1");
}

/** Returns an IPv4 address, the network of 64 bits of an IPv6 address, or the text itself. */
export function networkOf(client: string): string {
  if (!client.includes(":")) return client;
  const address = addressOf(client.replace(/%.*$/, ""));
  if (address === null || address.kind() === "ipv4") return address?.toString() ?? client;
  const parts = (address as ipaddr.IPv6).parts.slice(0, 4);
  return `${parts.map((part) => part.toString(16)).join(":")}::/64`;
}
