/** Version of this program, as in package.json. */
export const ORRERY_VERSION = '0.1.0';
