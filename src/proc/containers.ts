/**
 * Which containers there are, as the paths of their cgroups tell: those of Docker, containerd (and so of Kubernetes),
 * CRI-O and podman end in an ID of 64 digits; a pod's has its UID; those of systemd-nspawn, LXC and Incus have names.
 */
import { UsageError } from '../errors.js';
import { cgroupMount, perfEventMount, subgroups } from './cgroup.js';
import { mountsThere } from './mounts.js';

export interface Container {
	/** Its ID, its name, or the UID of a pod. */
	readonly id: string;
	/** "docker", "cri-containerd", "pod"; empty where the path does not say. */
	readonly kind: string;
}

/** "docker-ID.scope" by systemd, "ID" by hand; conmon only watches a container. */
const BY_ID = /^(?:([a-z][a-z.-]*)-)?([0-9a-f]{64})(?:\.scope)?$/;
const WATCHERS = /conmon/;
/** kubelet: "kubepods-burstable-pod1234_5678.slice", or "pod1234-5678"; a UID, or the hash of a static pod. */
const POD =
	/^(?:kubepods(?:-[a-z]+)?-)?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$/;
/** systemd-nspawn and machinectl; LXC, LXD and Incus. */
const BY_NAME = [/^machine-(.+)\.scope$/, /^systemd-nspawn@(.+)\.service$/, /^lxc\.payload\.(.+)$/];

/** The container whose cgroup this is; undefined: it is none's own. */
export function containerOf(path: string): Container | undefined {
	const name = path.slice(path.lastIndexOf('/') + 1);
	const [, kind = '', id] = BY_ID.exec(name) ?? [];
	if (id !== undefined) return WATCHERS.test(kind) ? undefined : { id, kind };
	const uid = POD.exec(name)?.[1];
	if (uid !== undefined) return { id: uid.replaceAll('_', '-'), kind: 'pod' };
	for (const pattern of BY_NAME) {
		const given = pattern.exec(name)?.[1];
		if (given !== undefined) return { id: unescaped(given), kind: 'machine' };
	}
	return undefined;
}

/** systemd writes "-" and the like in names of units as "\x2d": man 5 systemd.unit. */
const unescaped = (name: string) =>
	name.replace(/\\x([0-9a-f]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));

export interface Found extends Container {
	/** Of its cgroup, from the mount on. */
	readonly path: string;
}

/** All that there are. */
export function* containersThere(): Generator<Found> {
	const mount = cgroupMount() ?? perfEventMount(mountsThere());
	if (mount === undefined) return;
	for (const path of subgroups(mount)) {
		const container = containerOf(path);
		if (container) yield { ...container, path };
	}
}

/** The shortest beginning of an ID that is taken for one. */
const LEAST_DIGITS = 4;
const MOST_SHOWN = 5;
const SHOWN_DIGITS = 12;

/**
 * The path of the cgroup of a container, given by its whole name, or its ID or the beginning of that. Throws UsageError
 * if it is none's or several's.
 */
export function cgroupOfContainer(text: string, there: Iterable<Found>): string {
	const all = [...there];
	const begun = text.length >= LEAST_DIGITS ? all.filter(({ id }) => id.startsWith(text)) : [];
	const exact = all.filter(({ id }) => id === text);
	const found = exact.length > 0 ? exact : begun;
	// What runs in a container may make containers of its own in it, of the same name.
	const paths = found.map(({ path }) => path).sort((a, b) => a.length - b.length);
	const [first] = paths;
	if (first !== undefined && paths.every((path) => path === first || path.startsWith(`${first}/`)))
		return first;
	if (first !== undefined)
		throw new UsageError(
			`--container ${text}: several begin so: ${shown(found)}; give more of the ID`,
		);
	const others = all.length > 0 ? `; there are ${shown(all)}` : ' has a cgroup here';
	throw new UsageError(
		`--container: no container ${text}${others}. Names that only Docker or Kubernetes knows are not in ` +
			"paths of cgroups: docker inspect --format '{{.Id}}' NAME, or crictl ps, tells the ID",
	);
}

function shown(containers: readonly Found[]): string {
	const some = containers.slice(0, MOST_SHOWN).map(({ id, kind }) => {
		const short = /^[0-9a-f]{64}$/.test(id) ? id.slice(0, SHOWN_DIGITS) : id;
		return kind === '' ? short : `${short} (${kind})`;
	});
	const more = containers.length - some.length;
	return some.join(', ') + (more > 0 ? `, and ${more} more` : '');
}
