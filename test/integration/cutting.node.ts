/**
 * A link that is cut: what goes through it is passed on until so many bytes have gone one way, then both sides lose it.
 * @module
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export type CuttingLink = {
  readonly port: number
  /** Links that were made so far. */
  readonly links: number
}

/** `cuts`: for each link in its turn, after how many bytes of which way it is cut; what comes after is never cut. */
export async function cutLink(
  t: Test,
  to: number,
  cuts: readonly { readonly way: 'up' | 'down'; readonly bytes: number }[],
): Promise<CuttingLink> {
  let links = 0
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const cut = cuts[links++]
    const device = connect({ port: to, host: '127.0.0.1' })
    const end = () => {
      client.destroy()
      device.destroy()
    }
    let left = cut?.bytes ?? Number.POSITIVE_INFINITY
    for (const [from, onto, way] of [
      [client, device, 'up'],
      [device, client, 'down'],
    ] as const) {
      open.add(from)
      from.on('error', end)
      from.on('close', () => {
        open.delete(from)
        end()
      })
      from.on('data', (bytes: Buffer) => {
        const isCut = cut?.way === way && bytes.length >= left
        if (cut?.way === way) left -= bytes.length
        onto.write(isCut ? bytes.subarray(0, bytes.length + left) : bytes, () => {
          if (isCut) end()
        })
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    get links() {
      return links
    },
  }
}
