/**
 * What a client shows to a device that asks for certificates (tls.client_ca), beside its key.
 * A file of its own, since whoever compiles against the library need not have the types of Node.
 * Rules: docs/protocol.md, sections 1 and 4.
 * @module
 */

/** In PEM: the certificate, with its chain where it has one, and its private key. */
export type ClientCertificate = { readonly certificatePem: string; readonly keyPem: string }
